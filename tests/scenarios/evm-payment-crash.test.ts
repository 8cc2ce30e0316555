import { paymentCrashes } from '../contracts/payment-crash.contract'
import { openEvmSandbox } from '../support/evm/evm-sandbox'

async function open() {
  const sandbox = await openEvmSandbox()
  const buy = (challenged: Response) => sandbox.payer().createCredential(challenged)
  return { ...sandbox, env: { ...sandbox.env, PAYMENTS: 'evm' }, header: 'authorization' as const, buy }
}

async function openX402() {
  const sandbox = await open()
  const buy = ({ headers }: Response) => sandbox.x402Signature(headers.get('payment-required') ?? '')
  return { ...sandbox, header: 'payment-signature' as const, buy }
}

async function openX402V1() {
  const sandbox = await open()
  const buy = async (challenged: Response) => sandbox.x402V1Payment(await challenged.json())
  return { ...sandbox, header: 'x-payment' as const, buy }
}

paymentCrashes(
  'evm',
  [
    ['while the credential is validated', 'eth_call', false],
    ['before the payment is sent', 'eth_sendRawTransaction', false],
    ['after the payment, before its reply', 'eth_sendRawTransaction', true],
    ['while its block is waited for', 'eth_getTransactionReceipt', false],
  ],
  open,
)

// At a step alone: a payment names the public address, and a restart here listens on another port.
paymentCrashes('x402', [['after the payment, before its reply', 'eth_sendRawTransaction', true]], openX402, 0)
paymentCrashes('x402 version 1', [['after the payment, before its reply', 'eth_sendRawTransaction', true]], openX402V1)
