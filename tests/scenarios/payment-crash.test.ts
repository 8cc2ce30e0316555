import { paymentCrashes } from '../contracts/payment-crash.contract'

paymentCrashes('tempo', [
  ['after the payment, before its reply', 'eth_sendRawTransactionSync', true],
  ['before the payment is sent', 'eth_sendRawTransactionSync', false],
  ['while the credential is validated', 'eth_call', false],
])
