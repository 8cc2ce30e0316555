import { expect, test } from 'bun:test'
import { IMAGES_CALL } from '../http/wire'
import { openHarness } from '../support/harness'
import { MERCHANT } from '../support/payments/payment-sandbox'

/** Nobody listens at the port. */
const UNREACHED = {
  PAYMENTS: 'tempo',
  PAYMENTS_RPC_URL: 'http://127.0.0.1:9',
  PAYMENTS_CHAIN_ID: '1',
  PAYMENTS_TOKEN: '0x20c0000000000000000000000000000000000000',
  PAYMENTS_RECIPIENT: MERCHANT,
}

test('a gateway that closes before its payment networks are open answers 503 to who waits for an offer, and opens none later', async () => {
  const gateway = await openHarness({ env: UNREACHED })
  const waiting = gateway.call(IMAGES_CALL)
  await gateway.close()
  expect((await waiting).status).toBe(503)
  await gateway.gateway.rail.open()
  expect(gateway.logged.filter((line) => line.includes('error payments'))).toEqual([])
})
