import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { codeOf, cutOff, openPayingServer, type PaidNetwork } from '../support/payments/paying-server'

/** Where the process is killed: the question to the network that gets no answer, before or after the network saw it. */
type Step = readonly [when: string, method: string, after: boolean]

/** What every payment method keeps to when its gateway is killed: money moves at most once, and what was paid is served. */
export function paymentCrashes(
  name: string,
  steps: readonly Step[],
  open?: () => Promise<PaidNetwork>,
  rounds = 2,
): void {
  describe(`a gateway that is killed, paid by ${name}`, () => {
    let server: Awaited<ReturnType<typeof openPayingServer>>
    beforeAll(async () => {
      server = await openPayingServer({}, open)
    })
    afterAll(async () => {
      expect(await server.close()).toEqual([])
    })

    test.each(steps)(
      'killed %s, the same credential is served after the restart, and money moved once (facts/payments 2)',
      async (_, method, after) => {
        const before = await server.received()
        const credential = await server.bought()
        const reached = server.sandbox.freezeAt(method, after)
        const lost = cutOff(server.paying(credential))
        await reached
        await server.kill('SIGKILL')
        expect(await lost).toBe('cut off')
        await server.start()
        const served = await server.paying(credential)
        expect([served.status, served.headers.has('payment-receipt')]).toEqual([200, true])
        const again = await server.paying(credential)
        expect([again.status, await codeOf(again)]).toEqual([402, 'invalid_challenge'])
        expect((await server.received()) - before).toBe(server.price)
      },
    )

    if (rounds === 0) return
    test('killed at any moment, a payment is taken once, and its credential is served now or was before', async () => {
      const before = await server.received()
      for (let round = 0; round < rounds; round++) {
        const credential = await server.bought()
        const lost = server.paying(credential).catch(() => null)
        await Bun.sleep(5 + round * 20)
        await server.kill('SIGKILL')
        await lost
        await server.start()
        const answer = await server.paying(credential)
        // 402: it had been served, and the answer may have been cut off on its way.
        if (answer.status !== 200) expect(await codeOf(answer)).toBe('invalid_challenge')
      }
      expect((await server.received()) - before).toBe(server.price * BigInt(rounds))
    })
  })
}
