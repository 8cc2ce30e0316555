import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CustomerDetails } from '../../../server/http/operator/customers/customer-record'
import type { OperatorPrices } from '../../../server/http/operator/record'
import { type Harness, openHarness } from '../../support/harness'
import { openOperatorConsole } from '../../support/operator-console'
import {
  type AccountBody,
  auditRows,
  callWith,
  closeReconciled,
  IMAGES,
  keyBench,
  type Owner,
  read,
} from '../owner-bench'

/** Actions of the operator's pages by `gateway operator`, in the audit log as done at the console. */
let gateway: Harness
let operatorConsole: ReturnType<typeof openOperatorConsole>
let rootId: string
let owner: Owner
let id: string
const done = new Set<string>()

/** The output of a command, or its refusal. */
const run = async (...words: string[]): Promise<string> => {
  done.add(words[0] ?? '')
  return operatorConsole.run(...words).catch((error: Error) => `REFUSED ${error.message}`)
}
const entries = async () => (await auditRows(gateway)).filter((row) => row.account_id === id)
/** Runs a command that writes one entry, and says what it printed and wrote. */
const changed = async (...words: string[]): Promise<readonly [string, string]> => {
  const before = (await entries()).length
  const text = await run(...words)
  const rows = (await entries()).slice(before)
  expect(rows, text).toMatchObject([{ actor_kind: 'operator', actor_id: 'console', address: null }])
  return [rows[0]?.action ?? '', text]
}
/** A refused command writes nothing. */
const refused = async (...words: string[]): Promise<string> => {
  const before = await entries()
  const text = await run(...words)
  expect(text).toStartWith('REFUSED ')
  expect(await entries()).toEqual(before)
  return text
}

beforeAll(async () => {
  gateway = await openHarness()
  operatorConsole = openOperatorConsole(gateway)
  const operator = await gateway.owner('root@example.com')
  rootId = (await read<AccountBody>(operator.api('/api/account'))).id
  owner = await gateway.owner('grace@example.com')
  id = (await read<AccountBody>(owner.api('/api/account'))).id
})
afterAll(async () => {
  await operatorConsole.close()
  await closeReconciled(gateway)
})

describe('gateway operator', () => {
  test('suspends with a reason from the next call on, lifts, and shows both', async () => {
    const { secret } = await keyBench(owner).create()
    expect(await refused('suspend', id)).toContain('needs --reason TEXT')
    expect(await changed('suspend', id, '--reason', 'Stolen cards.')).toEqual([
      'account.suspend',
      expect.stringContaining('Stolen cards.'),
    ])
    expect(await callWith(gateway, secret)).toBe('403 account_suspended')
    expect(await run('show', id)).toMatch(/^reason +Stolen cards\.$/m)
    expect(await run('list', 'grace@')).toContain('Stolen cards.')
    expect(await changed('lift', id, '--reason', 'A mistake.')).toEqual([
      'account.lift',
      expect.not.stringContaining('Stolen'),
    ])
    expect(await refused('lift', id, '--reason', 'Again.')).toContain('not suspended')
    expect(await callWith(gateway, secret)).toBe('200')
  })

  test('stops and revokes one key, ends sessions, and keeps notes for colleagues', async () => {
    const { key, secret } = await keyBench(owner).create()
    expect(await changed('key', id, key.id, 'disable')).toEqual(['key.disable', expect.stringContaining('disabled')])
    expect(await callWith(gateway, secret)).toBe('401 api_key_disabled')
    expect((await changed('key', id, key.id, 'enable'))[0]).toBe('key.enable')
    expect((await changed('key', id, key.id, 'revoke'))[0]).toBe('key.revoke')
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
    expect(await refused('key', id, key.id, 'burn')).toContain('must be one of disable, enable, revoke')
    expect((await changed('note', id, 'Called twice.'))[0]).toBe('account.note')
    expect(await run('show', id)).toMatch(/ - {2,}Called twice\.$/m)
    expect(await changed('end-sessions', id)).toEqual(['account.sessions_end', 'ended  1\n'])
    expect((await owner.api('/api/account')).status).toBe(401)
    owner = await gateway.signIn('grace@example.com')
  })

  test('gives and takes roles, but for the last operator', async () => {
    expect((await changed('role', id, 'support'))[1]).toMatch(/grace@example\.com +support/)
    expect((await read<AccountBody & { support: boolean }>(owner.api('/api/account'))).support).toBeTrue()
    expect((await changed('role', id, '--none'))[0]).toBe('account.role')
    expect(await run('role', rootId, '--none')).toContain('the only operator')
  })

  test('credits and debits once per reference, refunds a call once, and sets limits, keys and prices', async () => {
    const { secret } = await keyBench(owner).create()
    const call = (await gateway.as(secret, IMAGES)).headers.get('x-gateway-request-id') ?? ''
    const grant = ['grant', id, '5', '--note', 'For the trouble', '--reference', 'g1']
    expect((await changed(...grant))[0]).toBe('account.grant')
    expect(await refused(...grant)).toContain('already booked')
    const debit = ['debit', id, '5', '--note', 'A wrong grant', '--reference', 'd1']
    expect((await changed(...debit))[0]).toBe('account.debit')
    expect(await refused(...debit)).toContain('already booked')
    expect(await refused('debit', id, '500', '--note', 'Too much')).toContain('USD is available; the rest is held')
    const [refundAction, refundText] = await changed('refund', id, call, '--note', 'Our fault')
    expect([refundAction, refundText]).toEqual(['account.charge_refund', expect.stringMatching(/0\.005 +succeeded/)])
    expect(await refused('refund', id, call, '--note', 'Our fault')).toContain('already refunded')
    expect(await run('refunds', id)).toBe('No refunds.\n')
    expect((await changed('limits', id, '1', '1000', '2'))[0]).toBe('account.limits')
    expect(await callWith(gateway, secret)).toBe('429 rate_limit_exceeded')
    expect((await changed('limits', id, '--none'))[1]).toContain('free')
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await refused('limits', id, '0', '1', '1')).toContain('rpm')
    expect(JSON.parse((await changed('keys', id, '3', '--json'))[1]).account.most_keys).toBe(3)
    expect((await changed('keys', id, '--none'))[0]).toBe('account.keys')
    const priced = await changed('price', 'image-search', '0.004', '--account', id)
    expect(priced).toEqual(['price.set', expect.stringMatching(/^usd +0\.004\n/m)])
    expect(priced[1]).toMatch(new RegExp(`^account +${id}\\n`, 'm'))
    const { prices } = JSON.parse(await run('list', '--json')) as OperatorPrices
    expect(prices).toMatchObject([{ operation: 'image-search', account: id, usd: '0.004' }])
    // Without a price of its own, the account pays everyone's.
    await run('price', 'image-search', '0.006')
    expect((await changed('price', 'image-search', '--none', '--account', id))[1]).toMatch(/^now usd +0\.006\n/m)
    expect(await run('price', 'image-search', '--none')).toMatch(/^now usd +0\.005\n/m)
    expect(await refused('price', 'image-search')).toContain('give a price, or --none')
    expect(await refused('limits', id, '1', '2')).toContain('RPM TPM CONCURRENCY')
  })

  test.each([
    [['suspend', '--help'], 'suspend ACCOUNT --reason TEXT', 'ACCOUNT is an id', 'lift ACCOUNT'],
    [['-h', 'price'], 'price OPERATION [USD] [--none] [--account ACCOUNT]', 'OPERATION is the name', 'model price'],
    [['api', 'disable', '--help'], 'api disable NAME[.OPERATION]', 'lists all commands', 'api import'],
    [['api', 'import', '--help'], 'api import FILE|URL', '[--dry-run] [--yes]', 'api lift'],
    [['model', '--help'], 'model put FILE.json', 'model remove ID', 'api list'],
  ])('%p prints the usage of that command alone', async (words, usage, more, other) => {
    const help = await operatorConsole.run(...words)
    expect(help).toContain(usage)
    expect(help).toContain(more)
    expect(help).not.toContain(other)
  })

  test('--help without a command, or with an unknown one, prints them all', async () => {
    for (const words of [['--help'], ['suspnd', '--help']])
      expect(await operatorConsole.run(...words)).toContain('lift ACCOUNT --reason TEXT')
  })

  test('lists, approves and declines requests for higher limits', async () => {
    const ask = async () => {
      const wish = { peak_rpm: 900, peak_tpm: 1, endpoints: ['image-search'], use_case: 'Many images, each hour.' }
      const sent = owner.api('/api/limit-requests', wish)
      return (await read<{ request: { id: string } }>(sent, 201)).request.id
    }
    const [declined] = [await ask()]
    expect(await run('requests')).toContain(declined)
    expect(await refused('decline', declined)).toContain('reason')
    expect((await changed('decline', declined, '--reason', 'Too early.'))[0]).toBe('limits.declined')
    const approved = await ask()
    expect((await changed('approve', approved, '1200', '90000', '9', '--reason', 'Welcome.'))[0]).toBe(
      'limits.approved',
    )
    expect(await run('requests')).toBe('No requests.\n')
    expect(await run('show', id)).toMatch(/^rpm +1200\ntpm +90000\nconcurrency +9$/m)
  })

  test('helps with a lost password and a lost second factor', async () => {
    const [action, link] = await changed('reset-link', id)
    expect([action, link]).toEqual(['account.reset_link', expect.stringMatching(/^http\S+#token=\S+\n$/)])
    expect(await refused('reset-second-factor', id)).toContain('has no second factor')
    expect((await owner.api('/api/account')).status).toBe(200)
  })

  test('exports and erases, with a confirmation, for good', async () => {
    const [action, data] = await changed('export', id)
    expect([action, data]).toEqual(['account.export', expect.stringContaining('grace@example.com')])
    expect(await refused('erase', id)).toContain('repeat it with --yes')
    expect(await refused('erase', 'acct_none', '--yes')).toContain('does not exist')
    expect(await run('erase', id, '--yes')).toMatch(/^forfeited usd +[\d.]+\n\nerased:\n {2}- email/m)
    expect((await owner.api('/api/account')).status).toBe(401)
    const shown = JSON.parse(await run('show', id, '--json')) as CustomerDetails
    expect(shown.account.email).toEndWith('@deleted.invalid')
    expect(await run('grant', id, '1')).toContain('closed for good')
  })

  test('says whether the gateway is ready, and what directories would list', async () => {
    expect(JSON.parse(await run('ready'))).toMatchObject({ status: 'ready', problems: {} })
    expect(await run('publish', 'check')).toContain('server.json')
    expect(await run('publish')).toContain('unknown operator command "publish"')
    expect(await run('burn', id)).toContain('unknown operator command "burn"')
  })

  test('lets workers of other machines in by a credential that is shown once, and out again', async () => {
    const acts = async () => (await auditRows(gateway)).slice(-1).map(({ action, detail }) => [action, detail])
    const credential = await run('workers', 'add', 'rack-1')
    expect(credential).toMatch(/^rack-1:[\w-]{43}\n$/)
    expect(await acts()).toEqual([['worker.add', JSON.stringify({ name: 'rack-1' })]])
    expect(await run('workers', 'add', 'rack-1')).toContain('There is a worker rack-1')
    expect(await run('workers', 'add', 'local-1')).toContain('not local-')
    expect(await run('workers', 'add', 'a b')).toContain('A worker is named by')
    const { workerCredentials } = gateway.core
    const key = () => Buffer.from(workerCredentials.keyOf('rack-1') ?? '').toString('base64url')
    expect(`rack-1:${key()}\n`).toBe(credential)
    const listed = await run('workers', 'list')
    expect([listed.includes('rack-1'), listed.includes(key())]).toEqual([true, false])
    const removed: string[] = []
    workerCredentials.onRemoved = (name) => removed.push(name)
    await run('workers', 'remove', 'rack-1')
    expect(await acts()).toEqual([['worker.remove', JSON.stringify({ name: 'rack-1' })]])
    expect([removed, workerCredentials.keyOf('rack-1')]).toEqual([['rack-1'], null])
    expect(await run('workers', 'remove', 'rack-1')).toContain('There is no worker rack-1')
    const again = await run('workers', 'add', 'rack-1')
    expect(again).not.toBe(credential)
    expect(await run('workers')).toContain('No workers')
  })
})

/** Tested at their own place. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  customer: 'operator-views.test.ts',
  revenue: 'operator-books.test.ts',
  books: 'operator-books.test.ts',
  statement: 'operator-books.test.ts',
  reconcile: 'operator-books.test.ts',
  'after-restore': 'after-restore.test.ts',
  model: '../models/operator-models.test.ts',
  vendor: 'model-vendors.test.ts',
  api: '../../cli/sell-your-api.test.ts',
  apply: '../../cli/sell-your-api.test.ts',
  webhooks: '../../cli/webhooks.test.ts',
  backup: '../../scenarios/backup-restore.test.ts',
  restore: '../../scenarios/backup-restore.test.ts',
  stuck: 'stuck-records.test.ts',
  archive: '../../compose/archive.test.ts',
}

test('each command of the help is run here or at its own place, whose test names it', async () => {
  const help = await operatorConsole.run('--help')
  const commands = new Set([...help.matchAll(/^ {2}(?!or )([a-z][a-z-]*) /gm)].map(([, name = '']) => name))
  expect(commands.size).toBeGreaterThan(30)
  expect([...commands].filter((name) => !done.has(name) && !Object.hasOwn(ELSEWHERE, name))).toEqual([])
  for (const [name, file] of Object.entries(ELSEWHERE)) {
    const text = await Bun.file(`${import.meta.dir}/${file}`).text()
    expect(text).toMatch(new RegExp(`\\b${name}\\b`))
  }
})
