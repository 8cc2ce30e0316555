import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openCluster, openSpender, ownersOf, type TestNode } from '../../support/cluster/cluster'
import { hasSqld } from '../../support/databases/sqld'
import { openEvmSandbox, RELAYER } from '../../support/evm/evm-sandbox'
import { codeOf } from '../../support/payments/paying-server'
import { MERCHANT } from '../../support/payments/payment-sandbox'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'

const PATH = '/apis/v1/websearch/images/search?q=card'
const PRICE = 5000n
const AT_ONCE = 8

/** ADR 55, with real processes: the owner of `main` relays for both cells, and dies while it does. */
describe.skipIf(!hasSqld)('two nodes with a cell each and one relayer', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let nodes: TestNode[] = []
  /** A key of an account in `c2`, whose gateway takes the payments beside it. */
  let key = ''
  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    cluster = await openCluster({ moreCells: 1 })
    const env = { ...sandbox.env, PAYMENTS: 'evm', PAYMENTS_ATTEMPTS_RPM: '100000', ANON_RPM: '100000' }
    nodes = await Promise.all([cluster.start(env), cluster.start(env)])
    await untilShared()
    const [a] = nodes as [TestNode]
    await openSpender(a, 'in-main@example.com', null)
    key = (await openSpender(a, 'in-c2@example.com', null)).secret
  }, 60_000)
  afterAll(async () => {
    await cluster.close()
    await sandbox.close()
  })

  const owners = () => ownersOf(nodes[0] as TestNode)
  const untilShared = () =>
    until(async () => {
      const found = Object.values(await owners())
      return !found.includes(null) && new Set(found).size === 2
    })
  const ownerOf = async (cell: string) => {
    const url = (await owners())[cell]
    const node = nodes.find((each) => each.url === url)
    if (!node) throw new Error(`nobody owns ${cell}`)
    return node
  }
  const buy = async (node: TestNode) => sandbox.payer().createCredential(await fetch(node.url + PATH))
  const inMain = (node: TestNode, payment: string) => fetch(node.url + PATH, { headers: { authorization: payment } })
  const inC2 = (node: TestNode, payment: string) =>
    fetch(node.url + PATH, { headers: { authorization: payment, 'x-api-key': key } })
  const sent = async () => Number(await sandbox.ask('eth_getTransactionCount', [RELAYER.address, 'latest']))

  test('payments in both cells at once, over both nodes, are each sent once, and are served', async () => {
    const before = [await sandbox.balance(MERCHANT), await sent()] as const
    const answers = await Promise.all(
      Array.from({ length: 2 * AT_ONCE }, async (_, i) => {
        const [asked, shown] = [nodes[i % 2], nodes[(i >> 1) % 2]] as [TestNode, TestNode]
        const pay = i < AT_ONCE ? inMain : inC2
        const answer = await pay(shown, await buy(asked))
        return [answer.status, answer.headers.has('payment-receipt')]
      }),
    )
    expect(answers).toEqual(answers.map(() => [200, true]))
    expect((await sandbox.balance(MERCHANT)) - before[0]).toBe(BigInt(2 * AT_ONCE) * PRICE)
    expect((await sent()) - before[1]).toBe(2 * AT_ONCE)
  }, 60_000)

  test('copies of one payment through both nodes at once: one is served, the others wait or find it used, and it is sent once', async () => {
    const before = [await sandbox.balance(MERCHANT), await sent()] as const
    const payment = await buy(nodes[0] as TestNode)
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) => inMain(nodes[i % 2] as TestNode, payment)),
    )
    const verdicts = await Promise.all(
      answers.map(async (answer) => `${answer.status} ${answer.ok ? 'ok' : await codeOf(answer)}`),
    )
    expect(verdicts.filter((verdict) => verdict === '200 ok')).toHaveLength(1)
    const fair = ['200 ok', '409 payment_in_progress', '402 invalid_challenge']
    expect(verdicts.filter((verdict) => !fair.includes(verdict))).toEqual([])
    expect((await sandbox.balance(MERCHANT)) - before[0]).toBe(PRICE)
    expect((await sent()) - before[1]).toBe(1)
  }, 60_000)

  test('payments in c2 whose settlements are written, and the owner of main is killed before one is sent and after the other, before its answer: each is sent once, and served once', async () => {
    const [victim, survivor] = [await ownerOf('main'), await ownerOf('c2')]
    const before = [await sandbox.balance(MERCHANT), await sent()] as const
    const payments: { payment: string; first: Promise<Response> }[] = []
    for (const after of [true, false]) {
      const payment = await buy(survivor)
      const reached = sandbox.freezeAt('eth_sendRawTransaction', after)
      payments.push({ payment, first: inC2(survivor, payment) })
      await reached
    }
    await victim.kill('SIGKILL')
    const statuses = await Promise.all(payments.map(async ({ first }) => (await first).status))
    for (const status of statuses) expect([200, 503]).toContain(status)
    nodes = [survivor]
    await until(async () => (await owners())['main'] === survivor.url)
    await until(async () => (await fetch(`${survivor.url}/ready`)).ok)
    for (const [i, { payment }] of payments.entries()) {
      if (statuses[i] === 503) await until(async () => (await inC2(survivor, payment)).status === 200)
      const again = await inC2(survivor, payment)
      expect(`${again.status} ${await codeOf(again)}`).toBe('402 invalid_challenge')
    }
    expect((await sandbox.balance(MERCHANT)) - before[0]).toBe(2n * PRICE)
    expect((await sent()) - before[1]).toBe(2)
    for (const { url } of [cluster.database, ...cluster.cellDatabases])
      expect((await reconcile(url)).problems).toEqual([])
  }, 90_000)
})
