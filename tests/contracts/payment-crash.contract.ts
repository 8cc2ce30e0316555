import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { MERCHANT } from '../support/payment-sandbox'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, type ServerProcess, startServer } from '../support/server-process'

const PATH = '/apis/v1/websearch/images/search?q=card'
const PRICE = 5000n

/** A network that gateways can be paid over, and a payer. */
interface Network {
  /** What makes a gateway offer it. */
  readonly env: Record<string, string>
  /** The headers that answer a 402. */
  buy(challenged: Response): Promise<Record<string, string>>
  freezeAt(method: string, after: boolean): Promise<void>
  balance(of: string): Promise<bigint>
  close(): Promise<void>
}

/** Where the process is killed: the question to the network that gets no answer, before or after the network saw it. */
type Step = readonly [when: string, method: string, after: boolean]

/** What a payment method must keep to when its gateway is killed: money moves at most once, and what was paid is served. */
export function paymentCrashes(name: string, open: () => Promise<Network>, steps: readonly Step[], rounds = 3): void {
  describe(`a gateway that is killed, paid by ${name}`, () => {
    let network: Network
    let folder: string
    /** Each server is the restart of the one that was killed before. */
    let server: ServerProcess
    const start = () => startServer(folder, network.env)
    beforeAll(async () => {
      network = await open()
      folder = await dataFolder()
      server = await start()
    })
    afterAll(async () => {
      await server.kill('SIGTERM')
      expect((await reconcile(`${folder}/gateway.db`)).problems).toEqual([])
      await removeFolder(folder)
      await network.close()
    })

    const paying = (headers: Record<string, string>) => fetch(`${server.url}${PATH}`, { headers })
    const bought = async () => network.buy(await fetch(`${server.url}${PATH}`))
    const codeOf = async (answer: Response) => ((await answer.json()) as { error?: { code: string } }).error?.code

    test.each(steps)(
      'killed %s, the same credential is served after the restart, and money moved once (facts/payments 2)',
      async (_, method, after) => {
        const before = await network.balance(MERCHANT)
        const credential = await bought()
        const reached = network.freezeAt(method, after)
        const lost = paying(credential).then(
          () => 'answered',
          () => 'cut off',
        )
        await reached
        await server.kill('SIGKILL')
        expect(await lost).toBe('cut off')
        server = await start()
        const served = await paying(credential)
        expect([served.status, served.headers.has('payment-receipt')]).toEqual([200, true])
        const again = await paying(credential)
        expect([again.status, await codeOf(again)]).toEqual([402, 'invalid_challenge'])
        expect((await network.balance(MERCHANT)) - before).toBe(PRICE)
      },
    )

    if (rounds === 0) return
    test('killed at any moment, a payment is taken once, and its credential is served or was', async () => {
      const before = await network.balance(MERCHANT)
      for (let round = 0; round < rounds; round++) {
        const credential = await bought()
        const lost = paying(credential).catch(() => null)
        await Bun.sleep(5 + round * 10)
        await server.kill('SIGKILL')
        await lost
        server = await start()
        const answer = await paying(credential)
        // 402: it had been served, and the answer may have been cut off on its way.
        if (answer.status !== 200) expect(await codeOf(answer)).toBe('invalid_challenge')
      }
      expect((await network.balance(MERCHANT)) - before).toBe(PRICE * BigInt(rounds))
    })
  })
}
