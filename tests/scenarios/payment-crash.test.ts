import { paymentCrashes } from '../contracts/payment-crash.contract'

paymentCrashes('tempo', [
  ['while the credential is validated', 'eth_call', false],
  ['before the payment is sent', 'eth_sendRawTransactionSync', false],
  ['after the payment, before its reply', 'eth_sendRawTransactionSync', true],
])
