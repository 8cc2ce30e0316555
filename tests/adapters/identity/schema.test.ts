import { describe, expect, test } from 'bun:test'
import { getAuthTables } from 'better-auth/db'
import { getTableColumns } from 'drizzle-orm'
import { getTableConfig, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import {
  identityAccount,
  identityInvitation,
  identityMember,
  identityOrganization,
  identityPasskey,
  identitySession,
  identityTwoFactor,
  identityUser,
  identityVerification,
} from '../../../server/adapters/stores/libsql/schema/identity'
import {
  oauthAccessToken,
  oauthClient,
  oauthClientAssertion,
  oauthClientResource,
  oauthConsent,
  oauthDeviceCode,
  oauthRefreshToken,
  oauthResource,
} from '../../../server/adapters/stores/libsql/schema/oauth'
import { allTables, generatedSchema, sessionFields } from './generated-schema'

const ours = {
  user: identityUser,
  session: identitySession,
  account: identityAccount,
  verification: identityVerification,
  oauthClient,
  oauthResource,
  oauthClientResource,
  oauthRefreshToken,
  oauthAccessToken,
  oauthConsent,
  oauthClientAssertion,
  deviceCode: oauthDeviceCode,
  twoFactor: identityTwoFactor,
  passkey: identityPasskey,
  organization: identityOrganization,
  member: identityMember,
  invitation: identityInvitation,
}
type Model = keyof typeof ours
const models = Object.keys(ours) as Model[]
const SQL_TYPE: Record<string, string> = {
  string: 'text',
  boolean: 'integer',
  date: 'integer',
  number: 'integer',
  'string[]': 'text',
  json: 'text',
}

describe('the identity tables', () => {
  const expected = getAuthTables({
    emailAndPassword: { enabled: true },
    plugins: allTables,
    session: sessionFields,
  })

  test('are exactly the tables that the library uses', () => {
    expect(Object.keys(expected).sort()).toEqual([...models].sort())
  })

  test.each(models)('have every field that the library writes to %s, with its type and constraints', (model) => {
    const columns: Record<string, SQLiteColumn> = getTableColumns(ours[model])
    const fields = expected[model]?.fields ?? {}
    expect(Object.keys(fields).length).toBeGreaterThan(0)
    for (const [name, field] of Object.entries(fields)) {
      const column = columns[name]
      expect(column, `${model}.${name}`).toBeDefined()
      expect({ field: name, type: column!.getSQLType(), notNull: column!.notNull, unique: column!.isUnique }).toEqual({
        field: name,
        type: SQL_TYPE[String(field.type)] ?? 'unknown',
        notNull: field.required ?? true,
        unique: field.unique ?? false,
      })
    }
  })

  test('have the SQL names that the library generates, and no column that it does not write', async () => {
    const generated = await generatedSchema()
    for (const model of models) {
      const table = generated.split(`export const ${model} = sqliteTable(`)[1]?.split('export const ')[0] ?? ''
      const wanted = [...table.matchAll(/(\w+): (text|integer)\(\s*"(\w+)"/g)].map(
        ([, key, type, sql]) => `${key} ${type} ${sql}`,
      )
      const present = Object.entries(getTableColumns(ours[model])).map(
        ([key, c]) => `${key} ${c.getSQLType()} ${c.name}`,
      )
      expect(present.sort()).toEqual(wanted.sort())
    }
  })

  test('have names distinct from the service tables', () => {
    for (const model of models) expect(getTableConfig(ours[model]).name).toMatch(/^(identity|oauth)_/)
  })
})
