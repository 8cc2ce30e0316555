import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identityUser } from '../../server/adapters/stores/libsql/schema/identity'
import { oauthAccessToken } from '../../server/adapters/stores/libsql/schema/oauth'
import type { Account } from '../../server/core/accounts/account'
import { ACCESS_TOKEN_PREFIX } from '../../server/core/credentials/oauth-grant'
import { type BenchGateway, benchConfig, newKey, openBenchGateway, widen } from './bench-gateway'
import { obey } from './workshop'

/**
 * Makes accounts and keys through the core, in a process of its own, because a connection that libSQL has closed may keep its
 * locks for the life of its process. `seed-core.ts keys FOLDER COUNT` writes the secrets to keys.txt and says `ready`;
 * `seed-core.ts tokens FOLDER COUNT` the same, with an access token for each account in tokens.txt;
 * `seed-core.ts owners FOLDER COUNT` signs up owners over HTTP, with ten keys each, and says `ready JSON`.
 */
export interface SeededOwner {
  readonly accountId: string
  readonly cookie: string
  readonly keys: readonly { id: string; secret: string }[]
}

export const KEYS_EACH = 10

if (import.meta.main) {
  process.umask(0o077)
  const [what, folder = '', count = '0'] = process.argv.slice(2)
  const gateway = await openBenchGateway(benchConfig(folder), 'http://127.0.0.1:9')
  const said = what === 'owners' ? JSON.stringify(await seedOwners(gateway, Number(count))) : ''
  if (what === 'keys' || what === 'tokens')
    writeFileSync(join(folder, 'keys.txt'), (await seedKeys(gateway, Number(count))).join('\n'))
  if (what === 'tokens')
    writeFileSync(join(folder, 'tokens.txt'), (await seedTokens(gateway, folder, Number(count))).join('\n'))
  await gateway.close()
  process.on('SIGTERM', () => process.exit(0))
  process.stdout.write(`ready ${said}\n`)
  await obey({})
}

function seedKeys(gateway: BenchGateway, count: number): Promise<string[]> {
  const one = async (i: number) => {
    const account = await gateway.core.signUp.openAccount(`bench-${i}`)
    if (!account) throw new Error('no account')
    await widen(gateway, account)
    return (await newKey(gateway, account, 'bench')).secret
  }
  return Promise.all(Array.from({ length: count }, (_, i) => one(i)))
}

/** An access token of the command line's client for each of the accounts that `seedKeys` made. */
async function seedTokens({ core }: BenchGateway, folder: string, count: number): Promise<string[]> {
  const { baseUrl } = benchConfig(folder)
  const [now, expiresAt] = [new Date(), new Date(Date.now() + 86_400_000)]
  const tokens = Array.from({ length: count }, () => randomBytes(32).toString('base64url'))
  const users = tokens.map((_, i) => ({ id: `bench-${i}`, name: 'bench', email: `bench-${i}@example.com` }))
  await core.stores.db.batch([
    core.stores.db.insert(identityUser).values(users.map((user) => ({ ...user, createdAt: now, updatedAt: now }))),
    core.stores.db.insert(oauthAccessToken).values(
      tokens.map((token, i) => ({
        id: `bench-${i}`,
        clientId: 'gateway-cli',
        userId: `bench-${i}`,
        createdAt: now,
        expiresAt,
        token: createHash('sha256').update(token).digest('base64url'),
        // As the library writes its lists.
        scopes: JSON.stringify(['data:read']),
        resources: JSON.stringify([`${new URL(baseUrl).origin}/apis/v1`]),
      })),
    ),
  ])
  return tokens.map((token) => ACCESS_TOKEN_PREFIX + token)
}

async function seedOwners(gateway: BenchGateway, count: number): Promise<SeededOwner[]> {
  const owners: SeededOwner[] = []
  for (let i = 0; i < count; i++) {
    const answer = await gateway.app.handle(
      new Request('http://127.0.0.1/api/auth/sign-up/email', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'Ada', email: `owner-${i}@example.com`, password: 'correct horse battery' }),
      }),
    )
    const cookie = answer.headers.getSetCookie().map((line) => line.split(';')[0])
    const [account] = (await gateway.core.accounts.list(1, null)) as [Account]
    await widen(gateway, account)
    const keys = []
    for (let k = 0; k < KEYS_EACH; k++) keys.push(await newKey(gateway, account, `key ${k}`))
    owners.push({ accountId: account.id, cookie: cookie.join('; '), keys })
  }
  return owners
}
