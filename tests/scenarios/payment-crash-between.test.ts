import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { stuckWrite } from '../support/databases/stuck-write'
import { searxngDouble } from '../support/doubles/searxng-server'
import { codeOf, cutOff, openPayingServer, PRICE } from '../support/payments/paying-server'
import { until } from '../support/until'

setDefaultTimeout(120_000)

/** Between the steps of a payment that ask the network nothing: while the upstream works, and while the answer waits for its row. */
const searxng = searxngDouble(() => ({
  results: [{ url: 'https://example.org/', img_src: 'https://example.org/i.png' }],
}))
let server: Awaited<ReturnType<typeof openPayingServer>>
beforeAll(async () => {
  server = await openPayingServer({ WEBSEARCH_PROVIDER: 'searxng', SEARXNG_URL: searxng.url })
})
afterAll(async () => {
  expect(await server.close()).toEqual([])
  await searxng.stop()
})

test('killed during the upstream call, nothing moved, and the same credential is served after the restart', async () => {
  const before = await server.received()
  const credential = await server.bought()
  const asked = Promise.withResolvers<void>()
  searxng.instead = ({ path }) => {
    if (path === '/search') asked.resolve()
    return new Promise<Response>(() => undefined)
  }
  const lost = cutOff(server.paying(credential))
  await asked.promise
  expect(await server.states()).toEqual({ working: 1 })
  await server.kill('SIGKILL')
  expect(await lost).toBe('cut off')
  expect(await server.received()).toBe(before)
  searxng.reset()
  await server.start()
  const served = await server.paying(credential)
  expect([served.status, served.headers.has('payment-receipt')]).toEqual([200, true])
  expect((await server.received()) - before).toBe(PRICE)
})

test('killed between the transfer and the answer, the same credential is served free, once', async () => {
  await server.kill('SIGTERM')
  const gap = await stuckWrite(server.databaseFile, 'payments', "NEW.state = 'served'")
  await server.start()
  const before = await server.received()
  const credential = await server.bought()
  const lost = cutOff(server.paying(credential))
  await until(async () => (await server.states())['settled'] !== undefined)
  await server.kill('SIGKILL')
  expect(await lost).toBe('cut off')
  await gap.undo()
  await server.start()
  const served = await server.paying(credential)
  expect([served.status, served.headers.has('payment-receipt')]).toEqual([200, true])
  const again = await server.paying(credential)
  expect([again.status, await codeOf(again)]).toEqual([402, 'invalid_challenge'])
  expect((await server.received()) - before).toBe(PRICE)
})
