import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '@libsql/client'
import { type Harness, openHarness } from '../../support/harness'
import {
  type AccountBody,
  type AuditRow,
  auditRows,
  callWith,
  closeReconciled,
  keyBench,
  type Owner,
  read,
} from './bench'

let gateway: Harness
let owner: Owner
let accountId: string
let userId: string

beforeAll(async () => {
  gateway = await openHarness({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
  owner = await gateway.owner()
  accountId = (await read<AccountBody>(owner.api('/api/account'))).id
  userId = (await gateway.core.accounts.byId(accountId as `acct_${string}`))?.userId ?? ''
})
afterAll(() => closeReconciled(gateway))

const ofKey = async (id: string) => (await auditRows(gateway)).filter((row) => row.key_id === id)
const from = (address: string) => ({ 'x-forwarded-for': address })

describe('the audit log (spec-answers 3, 4)', () => {
  test('records who opened the account, when and with what action', async () => {
    const rows = (await auditRows(gateway)).filter((row) => row.account_id === accountId && row.key_id === null)
    expect(rows).toMatchObject([{ actor_id: userId, at: gateway.clock.now(), key_id: null }])
    expect(rows[0]?.action).toMatch(/^account\./)
  })

  test('records who changed a key, when, from which address, and what changed', async () => {
    const headers = from('203.0.113.7')
    const made = await read<{ key: { id: string } }>(
      owner.api('/api/keys', { name: 'audited', spending_limit: 5, allowed_ips: ['10.0.0.1'] }, 'POST', headers),
      201,
    )
    const path = `/api/keys/${made.key.id}`
    const steps: [string, string, unknown][] = [
      ['PATCH', path, { spending_limit: null, name: 'renamed' }],
      ['POST', `${path}/disable`, undefined],
      ['POST', `${path}/enable`, undefined],
      ['POST', `${path}/rotate`, { grace_period_seconds: 60 }],
      ['PATCH', path, { stops_at: '2099-01-01T00:00:00Z' }],
      ['POST', `${path}/revoke`, undefined],
    ]
    const times = [gateway.clock.now()]
    for (const [method, where, body] of steps) {
      gateway.clock.advance(1_000)
      times.push(gateway.clock.now())
      const answer = await owner.api(where, body, method, headers)
      expect([200, 201]).toContain(answer.status)
    }
    const rows = await ofKey(made.key.id)
    expect(rows.map((row) => row.action)).toEqual([
      'key.create',
      'key.change',
      'key.disable',
      'key.enable',
      'key.rotate',
      'key.change',
      'key.revoke',
    ])
    expect(rows.map((row) => row.at)).toEqual(times)
    for (const row of rows)
      expect(row).toMatchObject({
        actor_kind: 'owner',
        actor_id: userId,
        address: '203.0.113.7',
        account_id: accountId,
      })
    const detail = (row: AuditRow | undefined): unknown => JSON.parse(row?.detail ?? 'null')
    expect(detail(rows[0])).toEqual({ name: 'audited', spendingLimit: 5_000_000, allowedIps: ['10.0.0.1'] })
    expect(detail(rows[1])).toEqual({ spendingLimit: null, name: 'renamed' })
    expect(detail(rows[4])).toMatchObject({ successor: expect.stringMatching(/^key_/), grace_period_seconds: 60 })
  })

  test('has no row for refused changes or reads', async () => {
    const { key } = await keyBench(owner).create()
    const before = await auditRows(gateway)
    await owner.api(`/api/keys/${key.id}`, { name: '' }, 'PATCH')
    await owner.api(`/api/keys/${key.id}/rotate`, { grace_period_seconds: -1 })
    await owner.api(`/api/keys/${key.id}`, { name: 'x' }, 'PATCH', { origin: 'https://evil.example' })
    await owner.api('/api/keys', {})
    for (const path of ['/api/keys', '/api/account', '/api/limits', '/api/requests']) await owner.api(path)
    expect(await auditRows(gateway)).toEqual(before)
  })

  test('is on disk before a change is confirmed, so that a crash loses none', async () => {
    const { key } = await keyBench(owner).create()
    const client = createClient({ url: `file:${gateway.databaseFile}`, concurrency: 1 })
    try {
      const { rows } = await client.execute({ sql: 'SELECT action FROM audit_log WHERE key_id = ?', args: [key.id] })
      expect(rows.map((row) => row['action'])).toEqual(['key.create'])
    } finally {
      client.close()
    }
  })

  test('contains no secret, no hash of one, no session and no password', async () => {
    const keys = keyBench(owner)
    const { key, secret } = await keys.create()
    const next = await keys.rotate(key.id)
    expect(await callWith(gateway, next.secret)).toBe('200')
    const text = JSON.stringify(await auditRows(gateway))
    for (const one of [secret, next.secret]) {
      expect(text).not.toContain(one.slice(4))
      expect(text).not.toContain(new Bun.CryptoHasher('sha256').update(one).digest('hex'))
    }
    expect(text).not.toContain('correct horse')
    expect(text).not.toContain(decodeURIComponent(owner.cookie).split(/[=.]/).at(-2) ?? '?')
  })
})
