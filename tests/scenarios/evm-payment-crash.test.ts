import { openEvmSandbox } from '../support/evm/evm-sandbox'
import '../support/patience'
import { paymentCrashes } from '../contracts/payment-crash.contract'

async function open() {
  const sandbox = await openEvmSandbox()
  const buy = async (challenged: Response) => ({ authorization: await sandbox.payer().createCredential(challenged) })
  return { ...sandbox, env: { ...sandbox.env, PAYMENTS: 'evm' }, buy }
}

async function openX402() {
  const sandbox = await open()
  const buy = async ({ headers }: Response) => ({
    'payment-signature': await sandbox.x402Signature(headers.get('payment-required') ?? ''),
  })
  return { ...sandbox, buy }
}

paymentCrashes('evm', open, [
  ['while the credential is validated', 'eth_call', false],
  ['before the payment is sent', 'eth_sendRawTransaction', false],
  ['after the payment, before its reply', 'eth_sendRawTransaction', true],
  ['while its block is waited for', 'eth_getTransactionReceipt', false],
])

// At a step alone: a payment names the public address, and a restart here listens on another port.
paymentCrashes('x402', openX402, [['after the payment, before its reply', 'eth_sendRawTransaction', true]], 0)
