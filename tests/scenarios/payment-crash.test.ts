import { SANDBOX_CHAIN_ID, SANDBOX_TOKEN } from '../../server/adapters/payments/sandbox-chain/sandbox-chain'
import '../support/patience'
import { paymentCrashes } from '../contracts/payment-crash.contract'
import { MERCHANT, openPaymentSandbox } from '../support/payment-sandbox'

async function open() {
  const sandbox = await openPaymentSandbox()
  return {
    ...sandbox,
    env: {
      PAYMENTS_RPC_URL: sandbox.nodeUrl,
      PAYMENTS_CHAIN_ID: String(SANDBOX_CHAIN_ID),
      PAYMENTS_TOKEN: SANDBOX_TOKEN,
      PAYMENTS_RECIPIENT: MERCHANT,
    },
    buy: async (challenged: Response) => ({ authorization: await sandbox.payer().createCredential(challenged) }),
  }
}

paymentCrashes('tempo', open, [
  ['while the credential is validated', 'eth_call', false],
  ['before the payment is sent', 'eth_sendRawTransactionSync', false],
  ['after the payment, before its reply', 'eth_sendRawTransactionSync', true],
])
