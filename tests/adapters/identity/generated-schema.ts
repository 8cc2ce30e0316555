import { oauthDeviceAuthorization, oauthProvider } from '@better-auth/oauth-provider'
import { passkey } from '@better-auth/passkey'
import { generateDrizzleSchema } from 'auth/api'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { drizzleAdapter } from 'better-auth/adapters/drizzle'
import { organization } from 'better-auth/plugins/organization'
import { twoFactor } from 'better-auth/plugins/two-factor'
import { SESSION_FIELDS } from '../../../server/adapters/identity/sign-in/second-factors'

/** The OAuth server without its resources: with them the library wants the very tables that are to be generated. */
export const oauthTablesOnly = [
  oauthProvider({ loginPage: '/', consentPage: '/', disableJwtPlugin: true }),
  oauthDeviceAuthorization(),
] as unknown as NonNullable<BetterAuthOptions['plugins']>

export const allTables = [
  ...oauthTablesOnly,
  twoFactor(),
  passkey(),
  organization(),
] as unknown as typeof oauthTablesOnly
export const sessionFields = { additionalFields: SESSION_FIELDS }

/** The output of better-auth's own generator for its core tables and for the OAuth server. Run this file to print it; needs no database. */
export async function generatedSchema(): Promise<string> {
  const settings: BetterAuthOptions = {
    baseURL: 'http://localhost',
    secret: crypto.randomUUID() + crypto.randomUUID(),
    telemetry: { enabled: false },
    emailAndPassword: { enabled: true },
    plugins: allTables,
    session: sessionFields,
    advanced: { database: { validateSchema: false } },
    database: drizzleAdapter({}, { provider: 'sqlite', schema: {} }),
  }
  const { adapter, options } = await betterAuth(settings).$context
  const { code } = await generateDrizzleSchema({ adapter, options, file: 'not-written.ts' })
  if (code === undefined) throw new Error('the generator wrote nothing')
  return code
}

if (import.meta.main) console.log(await generatedSchema())
