import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { archiveCommand } from '../../server/cli/local/archive-command'
import type { Account } from '../../server/core/accounts/account'
import { archiveMonth } from '../../server/core/archive/archive'
import { DAY_MS } from '../../server/core/clock'
import { appended } from '../../server/core/ledger/journal'
import { executeOn } from '../support/databases/database-file'
import { openS3Server } from '../support/doubles/s3-server'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { call, entry, requestIdAt } from '../support/ledger-parts'
import { openOperatorConsole } from '../support/operator-console'

const YEAR = Array.from({ length: 12 }, (_, i) => `2023-${String(i + 1).padStart(2, '0')}`)
const CALLS = 3_000
const START = Date.UTC(2023, 0, 1)

/** The command makes new files private to its process, which here is that of other tests too. */
const umask = process.umask()
let h: Harness
let account: Account
let key: MadeKey
let to: string
let s3: ReturnType<typeof openS3Server>
let operator: ReturnType<typeof openOperatorConsole>
const environment = { ...process.env }
beforeAll(() => {
  s3 = openS3Server('archives')
})
afterAll(() => {
  s3.close()
  process.umask(umask)
})
beforeEach(async () => {
  h = await openHarness()
  account = await h.account(50)
  key = await h.key(account)
  to = join(await mkdtemp(join(tmpdir(), 'archive-')), 'archives')
  operator = openOperatorConsole(h)
  Object.assign(process.env, s3.env)
})
afterEach(async () => {
  await operator.close()
  for (const name of Object.keys(s3.env)) delete process.env[name]
  Object.assign(process.env, environment)
  await h.close()
  await rm(join(to, '..'), { recursive: true, force: true })
})

/** Charged calls of so many days, some of them with a text that CSV must quote, and the closing of its days. */
async function chargedCalls(days: number, calls = days): Promise<void> {
  const { journal, dayClosing } = h.core.stores
  const step = (days * DAY_MS) / calls
  const appends = Array.from({ length: calls }, (_, i) => {
    const at = Math.floor(START + i * step)
    const record = call(account.id, 5, {
      id: requestIdAt(at, i),
      at,
      keyId: key.id as `key_${string}`,
      clientRequestId: `mine-${i}`,
    })
    const taken = entry(account.id, 5, {
      kind: 'charge',
      debit: `${account.id}/credit`,
      credit: 'house/revenue',
      at,
      requestId: record.id,
      description: i % 7 === 0 ? 'a "model",\nin two lines' : i % 3 === 0 ? '' : 'image-search',
    })
    return appended(journal, {
      call: record,
      entries: [taken],
      change: { accountId: account.id, credit: -5, paid: 0, toppedUp: 0 },
    })
  })
  for (const outcome of await Promise.all(appends)) expect(outcome.kind).toBe('committed')
  for await (const _ of dayClosing.close(h.clock.now()));
}

const progress: string[] = []
const archive = (...words: string[]) => archiveCommand(['archive', ...words], { err: (line) => progress.push(line) })
const rows = async (sql: string) => (await executeOn(h.databaseFile, sql)).map((row) => ({ ...row }))
const count = async (table: string) => Number((await rows(`SELECT count(*) AS n FROM ${table}`))[0]?.['n'])
const statement = async () => [
  await operator.run('statement', '2023-05', '--json'),
  await operator.run('books', '2023-05'),
]

test('a year of calls leaves month by month for a folder and a bucket; books, statements and balances stay, and readers name the archive', async () => {
  await chargedCalls(365, CALLS)
  const [balance, before, usage] = [
    await operator.run('show', account.id),
    await statement(),
    await rows('SELECT * FROM usage_days'),
  ]
  const ids = await rows(
    "SELECT id FROM requests WHERE cost > 0 AND at < strftime('%s', '2024-01-01') * 1000 ORDER BY id",
  )
  const entries = await rows('SELECT * FROM entries ORDER BY seq')
  for (const [i, month] of YEAR.entries()) {
    const place = i % 2 === 0 ? to : 's3://archives/books'
    expect(await archive(month, '--to', place, '--remove')).toContain(`gateway-archive-${month} was compared`)
  }
  expect(await count('requests WHERE cost > 0')).toBe(0)
  expect(await count("entries WHERE kind = 'charge'")).toBe(0)
  expect(await h.core.stores.ledgerCheck()).toEqual([])
  expect([await operator.run('show', account.id), await statement(), await rows('SELECT * FROM usage_days')]).toEqual([
    balance,
    before,
    usage,
  ])

  expect((await readdir(to)).sort()).toEqual(
    YEAR.filter((_, i) => i % 2 === 0).map((month) => `gateway-archive-${month}`),
  )
  expect([...s3.objects.keys()]).toContain('books/gateway-archive-2023-12/manifest.json')
  const listed = JSON.parse(await operator.run('archive', 'list', '--json'))
  expect(listed.archives.map(({ month }: { month: string }) => month)).toEqual(YEAR)
  expect(listed.archives.reduce((sum: number, one: { charges: number }) => sum + one.charges, 0)).toBe(CALLS)

  const id = String(ids[0]?.['id'])
  const explained = await h.as(key, `/v1/usage/${id}`)
  expect([explained.status, (await explained.json()).error]).toMatchObject([
    404,
    { code: 'resource_not_found', message: expect.stringContaining('gateway-archive-2023-01') },
  ])
  await expect(operator.run('refund', account.id, id, '--note', 'late')).rejects.toThrow(
    'in the archive gateway-archive-2023-01',
  )
  await expect(operator.run('books', '2023-05', '--entries')).rejects.toThrow('in the archive gateway-archive-2023-05')
  const exported = JSON.parse(await operator.run('export', account.id))
  expect(exported.archives).toEqual(YEAR.map((month) => `gateway-archive-${month}`))
  const erased = await operator.run('erase', account.id, '--yes')
  expect(erased).toContain('gateway-archive-2023-12')

  const texts = await Promise.all(
    YEAR.map(async (month, i) => {
      const packed =
        i % 2 === 0
          ? await readFile(join(to, `gateway-archive-${month}`, 'entries.csv.zst'))
          : s3.objects.get(`books/gateway-archive-${month}/entries.csv.zst`)
      return Buffer.from(await Bun.zstdDecompress(packed ?? new Uint8Array())).toString()
    }),
  )
  for (const one of entries.filter(({ kind }) => kind === 'charge'))
    expect(texts.join('')).toContain(`\n${one['seq']},${one['transaction_id']},charge,${account.id},`)
  const calls = Buffer.from(
    await Bun.zstdDecompress(await readFile(join(to, 'gateway-archive-2023-01', 'calls.csv.zst'))),
  ).toString()
  expect(calls).toContain(id)
  for (const personal of ['192.0.2.1', 'mine-', 'address', 'client_request_id']) expect(calls).not.toContain(personal)
})

test('without --remove nothing leaves, a second archive of a month is refused, and one that is there is compared before it is used', async () => {
  await chargedCalls(40)
  const before = await count('entries')
  expect(await archive('2023-01', '--to', to)).toContain('31 charges, read back and compared')
  await expect(archive('2023-01', '--to', to)).rejects.toThrow('has gateway-archive-2023-01 already')
  expect([await count('entries'), await count('archived_months')]).toEqual([before, 0])
  expect(await archive('2023-01', '--to', to, '--remove')).toContain('Removed 31 calls and 31 charges')
  expect(await archive('2023-01', '--to', to, '--remove')).toContain('Removed 0 calls and 0 charges')
  await expect(archive('2023-01', '--to', join(to, 'other'), '--remove')).rejects.toThrow('have left for the archive')
})

test.each([
  ['another byte', 'entries.csv.zst', (bytes: Buffer) => bytes.fill(7, 100, 101)],
  ['a missing end', 'calls.csv.zst', (bytes: Buffer) => bytes.subarray(0, bytes.length - 64)],
  ['fewer rows', 'entries.csv.zst', (bytes: Buffer) => changed(bytes, (text) => text.replace(/[^\n]*\n$/, ''))],
  [
    'another amount',
    'entries.csv.zst',
    (bytes: Buffer) => changed(bytes, (text) => text.replace(/house\/revenue,5,/, 'house/revenue,6,')),
  ],
  ['another closing', 'closings.csv.zst', (bytes: Buffer) => changed(bytes, (text) => text.replace(/\d\n/, '9\n'))],
])('an archive with %s is refused, also with checksums of its own, and nothing leaves', async (_what, name, change) => {
  await chargedCalls(40)
  await archive('2023-01', '--to', to)
  const folder = join(to, 'gateway-archive-2023-01')
  const bytes = change(await readFile(join(folder, name)))
  await writeFile(join(folder, name), bytes)
  await expect(archive('2023-01', '--to', to, '--remove')).rejects.toThrow(name)
  const manifest = await readFile(join(folder, 'manifest.json'), 'utf8')
  const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
  const files = JSON.parse(manifest).files as { name: string; sha256: string }[]
  await writeFile(
    join(folder, 'manifest.json'),
    manifest.replace(files.find((file) => file.name === name)?.sha256 ?? '', sha256),
  )
  await expect(archive('2023-01', '--to', to, '--remove')).rejects.toThrow(name)
  expect([await count('archived_months'), await count("entries WHERE kind = 'charge'")]).toEqual([0, 40])
})

function changed(bytes: Buffer, change: (text: string) => string): Buffer {
  const text = Buffer.from(Bun.zstdDecompressSync(bytes)).toString()
  const other = change(text)
  if (other === text) throw new Error('nothing was changed')
  return Buffer.from(Bun.zstdCompressSync(Buffer.from(other)))
}

test('a removal that was interrupted goes on with the same archive, whatever has left', async () => {
  await chargedCalls(31, 600)
  expect(await archive('2023-01', '--to', to)).toContain('charges')
  const month = archiveMonth('2023-01')
  const manifest = await readFile(join(to, 'gateway-archive-2023-01', 'manifest.json'), 'utf8')
  const { charges, charged } = JSON.parse(manifest)
  const digest = new Bun.CryptoHasher('sha256').update(manifest).digest('hex')
  const given = {
    month: month?.text,
    name: 'gateway-archive-2023-01',
    location: to,
    manifest: digest,
    charges,
    charged_micros_usd: charged,
  }
  expect(await (await h.control('/archives/remove', given)).json()).toEqual({ calls: 500, charges: 500, done: false })
  expect(await count('archived_months')).toBe(1)
  expect(await h.core.stores.ledgerCheck()).toEqual([])
  expect(await (await h.control('/archives/remove', { ...given, manifest: 'f'.repeat(64) })).json()).toMatchObject({
    error: { code: 'invalid_state' },
  })
  expect(await archive('2023-01', '--to', to, '--remove')).toContain(
    `Removed ${charges - 500} calls and ${charges - 500} charges`,
  )
  expect(await h.core.stores.ledgerCheck()).toEqual([])
})

test('a month that is young, open or no month is refused, and a draft that was left behind is written again', async () => {
  await expect(archive('2023-13', '--to', to)).rejects.toThrow('takes a month')
  await expect(archive('2023-01')).rejects.toThrow('takes a month')
  await expect(archive(new Date().toISOString().slice(0, 7), '--to', to)).rejects.toThrow('did not end 13 months ago')
  await expect(archive('2023-01', '--to', to)).rejects.toThrow('is not closed yet')
  await chargedCalls(40)
  await mkdir(join(to, 'gateway-archive-2023-01.partial'), { recursive: true })
  await writeFile(join(to, 'gateway-archive-2023-01.partial', 'calls.csv.zst'), 'half')
  await archive('2023-01', '--to', to)
  expect(existsSync(join(to, 'gateway-archive-2023-01.partial'))).toBe(false)
})
