import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { searxngDouble } from '../support/doubles/searxng-server'
import { codeOf, cutOff, openPayingServer, PRICE } from '../support/payments/paying-server'
import { until } from '../support/until'

setDefaultTimeout(120_000)

let questions = 0
const searxng = searxngDouble(() => {
  questions++
  return { results: [{ url: 'https://example.org/', img_src: 'https://example.org/i.png' }] }
})
let server: Awaited<ReturnType<typeof openPayingServer>>
beforeAll(async () => {
  server = await openPayingServer({ WEBSEARCH_PROVIDER: 'searxng', SEARXNG_URL: searxng.url })
})
afterAll(async () => {
  expect(await server.close()).toEqual([])
  await searxng.stop()
})

test('a connection that closes during its payment: one upstream call, one payment, and its answer for whoever presents it again, also after a kill', async () => {
  expect((await server.paying(await server.bought())).status).toBe(200)
  const each = questions
  const before = await server.received()
  const credential = await server.bought()
  const gone = new AbortController()
  const sent = server.sandbox.freezeAt('eth_sendRawTransactionSync', true)
  const lost = cutOff(server.paying(credential, server.sandbox, gone.signal))
  await sent
  gone.abort()
  expect(await lost).toBe('cut off')
  await until(async () => (await server.states())['paid_unserved'] !== undefined)
  await server.kill('SIGKILL')
  await server.start()
  const served = await server.paying(credential)
  expect([served.status, served.headers.has('payment-receipt')]).toEqual([200, true])
  const again = await server.paying(credential)
  expect([again.status, await codeOf(again)]).toEqual([402, 'invalid_challenge'])
  expect([(await server.received()) - before, questions - each]).toEqual([PRICE, each])
})
