import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { AfterRestore } from '../../server/http/operator/restore/after-restore-record'
import { type AccountBody, callWith, type MadeKey, read } from '../http/owner-bench'
import { C2, type Cells, openCells } from '../support/cluster/cells'
import { newFolder } from '../support/harness'
import { openOperatorConsole } from '../support/operator-console'
import { newClaim } from '../support/payments/payment-claim'

/** The database of c2 is put back from a copy, and the control database has gone on. */
let cells: Cells
let operatorConsole: ReturnType<typeof openOperatorConsole>
let takenAt: string
let lost: string
let made: Awaited<ReturnType<typeof goOn>>
let owner: Awaited<ReturnType<Cells['owner']>>
let keys: Record<'stays' | 'stolen', MadeKey>
beforeAll(async () => {
  const folders = [await newFolder(), await newFolder()] as const
  cells = await openCells({ folders, running: true })
  await cells.owner('root@example.com')
  owner = await cells.owner('there@example.com')
  keys = { stays: await keyOf(owner, 'stays'), stolen: await keyOf(owner, 'stolen') }
  takenAt = new Date().toISOString()
  await cells.end(C2)
  const copy = await newFolder()
  await cp(folders[1], copy, { recursive: true })
  await cells.openC2()
  made = await goOn()
  await cells.close(true)

  lost = await newFolder()
  await cp(folders[1], lost, { recursive: true })
  await rm(folders[1], { recursive: true })
  await cp(copy, folders[1], { recursive: true })
  await rm(copy, { recursive: true })
  cells = await openCells({ folders, running: true })
  operatorConsole = openOperatorConsole(cells.main)
})
afterAll(async () => {
  await operatorConsole.close()
  await cells.close()
  await rm(lost, { recursive: true, force: true })
})

function keyOf(of: typeof owner, name: string): Promise<MadeKey> {
  return read<MadeKey>(of.api('/api/keys', { name }), 201)
}
/** What is done in c2 that the copy does not have. */
async function goOn() {
  await read(owner.api(`/api/keys/${keys.stolen.key.id}/revoke`, {}))
  await cells.owner('third@example.com')
  const newcomer = await cells.owner('since@example.com')
  expect(newcomer.cell).toBe(C2)
  const { id } = await read<AccountBody>(newcomer.api('/api/account'))
  await cells.main.control('grant', { account: id, usd: '7', note: 'since', reference: 'since' })
  const claim = newClaim()
  expect(await cells.c2.core.stores.paymentClaims.take(claim, cells.clock.now())).toMatchObject({ kind: 'fresh' })
  return { id, key: await keyOf(owner, 'since'), claim }
}
const printed = (...words: string[]) => operatorConsole.run('after-restore', ...words)

test('a key that was made since is unknown, and a payment that was used since stays used in every other cell', async () => {
  expect(await callWith(cells.c2, made.key.secret)).toBe('401 invalid_api_key')
  const taken = await cells.main.core.stores.paymentClaims.take(made.claim, cells.clock.now())
  expect(taken).toEqual({ kind: 'refused', why: 'in_use' })
})

test('an account that was opened since is opened again under its id, with its signup credit alone', async () => {
  const again = await cells.signIn('since@example.com')
  const account = await read<AccountBody>(again.api('/api/account'))
  expect(account).toMatchObject({ id: made.id, balance_micros_usd: 2_000_000 })
})

test('an operator says which cell was restored and from when, and stops there what was stopped since', async () => {
  expect(await callWith(cells.c2, keys.stolen.secret)).toBe('200')
  const of = ['--cell', C2, '--taken-at', takenAt]
  const listed = JSON.parse(await printed(...of, '--json')) as AfterRestore
  expect(listed).toMatchObject({ live_keys: 2, reconciled: null, restored: { copy: null, checked_at: null } })
  expect(listed.keys.map(({ id }) => id)).toEqual([keys.stays.key.id, keys.stolen.key.id])
  const text = await printed(...of, '--lost', join(lost, 'gateway.db'), '--apply')
  expect(text).toContain(`revoke ${keys.stolen.key.id}`)
  expect(text).toContain(`gateway operator reconcile --from ${takenAt} --apply`)
  expect(await callWith(cells.c2, keys.stolen.secret)).toBe('401 invalid_api_key')
  expect(await callWith(cells.c2, keys.stays.secret)).toBe('200')
  const { restored, ended_sessions: ended } = JSON.parse(await printed(...of, '--apply', '--json')) as AfterRestore
  expect([restored.checked_at !== null, ended]).toEqual([true, 0])
})

test('a cell that does not exist, and a restore that nobody named, are refused', async () => {
  await expect(printed('--cell', 'c9', '--taken-at', takenAt)).rejects.toThrow('must be a cell of this gateway')
  await expect(printed('--cell', C2)).rejects.toThrow('--taken-at')
  await expect(printed('--cell', C2, '--taken-at', 'yesterday')).rejects.toThrow('RFC 3339')
})

test('a restore of main ends the sessions of owners in all cells', async () => {
  const there = await cells.signIn('there@example.com')
  expect((await there.api('/api/account')).status).toBe(200)
  const { ended_sessions: ended, reconciled } = JSON.parse(
    await printed('--taken-at', takenAt, '--apply', '--json'),
  ) as AfterRestore
  expect([ended > 0, reconciled?.ledger]).toEqual([true, []])
  expect((await there.api('/api/account')).status).toBe(401)
})
