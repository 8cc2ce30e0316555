import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { codeOf, cutOff, openPayingServer, type PaidNetwork, type Payer } from '../support/payments/paying-server'

/**
 * Where a payment is when the process is killed: the question to the network that gets no answer, before or after the network saw it. `other`:
 * by which of the network's other payers.
 */
type Step = readonly [when: string, method: string, after: boolean, other?: string]

/**
 * The rules of every payment method when its gateway is killed: money moves at most once, and a paid call is served. Each kill finds a
 * payment at each of the steps; a step must not wait for what an earlier one holds up.
 */
export function paymentCrashes(
  name: string,
  steps: readonly Step[],
  open?: () => Promise<PaidNetwork>,
  { atAnyMoment = 4 } = {},
): void {
  describe(`a gateway that is killed, paid by ${name}`, () => {
    let server: Awaited<ReturnType<typeof openPayingServer>>
    beforeAll(async () => {
      server = await openPayingServer({}, open)
    })
    afterAll(async () => {
      expect(await server.close()).toEqual([])
    })

    test(`killed ${[...new Set(steps.map(([when]) => when))].join(', ')}, the same credential is served after the restart, and money moved once`, async () => {
      const before = await server.received()
      const payments: { when: string; by: Payer; credential: string; lost: Promise<string> }[] = []
      for (const [when, method, after, other = ''] of steps) {
        const by = server.sandbox.others?.[other] ?? server.sandbox
        const credential = await server.bought(by)
        const reached = server.sandbox.freezeAt(method, after)
        payments.push({ when: `${when} ${other}`, by, credential, lost: cutOff(server.paying(credential, by)) })
        await reached
      }
      await server.kill('SIGKILL')
      await server.start()
      for (const { when, by, credential, lost } of payments) {
        expect([when, await lost]).toEqual([when, 'cut off'])
        const served = await server.paying(credential, by)
        expect([when, served.status, served.headers.has('payment-receipt')]).toEqual([when, 200, true])
        const again = await server.paying(credential, by)
        expect([when, again.status, await codeOf(again)]).toEqual([when, 402, 'invalid_challenge'])
      }
      expect((await server.received()) - before).toBe(server.price * BigInt(steps.length))
    })

    if (atAnyMoment === 0) return
    test('killed at any moment, a payment is taken once, and its credential is served now or was before', async () => {
      const before = await server.received()
      const credentials: string[] = []
      const lost: Promise<unknown>[] = []
      while (credentials.length < atAnyMoment) credentials.push(await server.bought())
      for (const credential of credentials) {
        lost.push(server.paying(credential).catch(() => null))
        await Bun.sleep(10)
      }
      await server.kill('SIGKILL')
      await Promise.all(lost)
      await server.start()
      for (const credential of credentials) {
        const answer = await server.paying(credential)
        // 402: it had been served, and the answer may have been cut off on its way.
        if (answer.status !== 200) expect(await codeOf(answer)).toBe('invalid_challenge')
      }
      expect((await server.received()) - before).toBe(server.price * BigInt(atAnyMoment))
    })
  })
}
