import { BODY_FAILURES } from '../openapi/body-failures'
import { type EndpointDocs, requestBody } from '../openapi/documented'
import { record, yesOrNo } from '../openapi/json-schema'
import { Billing, NewTopUp, PaymentPage, StartedTopUp, TopUpPage } from './record'

export const BILLING_DOCS = {
  billing: {
    id: 'billing',
    tag: 'Account',
    summary: 'Balance and ways to top up',
    description: 'The balance with its breakdown, and the top-up methods of this gateway.',
    answers: { 200: { description: 'The balance.', schema: Billing } },
    failures: [],
  },
  topUp: {
    id: 'topUp',
    tag: 'Account',
    summary: 'Top up the balance',
    description:
      'With `card`, returns the URL of a payment page; the balance is updated once it is paid. With `sandbox` (development only), adds worthless test money immediately. The first paid top-up moves the account to Starter, a total of 500 USD to Growth.',
    body: requestBody('The amount and the method.', NewTopUp, { sandbox: { amount: '10.00', method: 'sandbox' } }),
    answers: {
      201: { description: 'The top-up; for `card`, with the URL of the payment page.', schema: StartedTopUp },
    },
    failures: [...BODY_FAILURES],
  },
  topUps: {
    id: 'listTopUps',
    tag: 'Account',
    summary: 'Top-ups and receipts',
    description: 'Newest first. A paid top-up serves as its receipt.',
    answers: { 200: { description: 'A page of top-ups.', schema: TopUpPage } },
    failures: ['invalid_parameter'],
  },
  payments: {
    id: 'listPayments',
    tag: 'Account',
    summary: 'Pay-per-request payments (operators)',
    description:
      'Pay-per-request calls of all payers, newest first. A failed payment does not imply an on-chain refund.',
    answers: { 200: { description: 'A page of payments.', schema: PaymentPage } },
    failures: ['invalid_parameter', 'insufficient_permissions'],
  },
  ledgerCsv: {
    id: 'ledgerCsv',
    tag: 'Activity',
    summary: 'Transactions as CSV',
    description: 'All transactions, newest first.',
    answers: {
      200: {
        description: 'The file.',
        contentType: 'text/csv',
        schema: { type: 'string' },
        examples: {
          csv: 'time_utc,transaction_id,kind,description,amount_usd,balance_after_usd,request_id\r\n',
        },
        headers: ['Content-Disposition'],
      },
    },
    failures: [],
  },
  stripe: {
    id: 'stripeWebhook',
    tag: 'Account',
    summary: "Stripe webhook (Stripe's servers only)",
    description:
      'Must be signed by Stripe. The amounts in the message are not trusted: the gateway reads them again from Stripe.',
    answers: {
      200: {
        description: 'Received.',
        schema: record('The result.', { received: yesOrNo('Always true.') }),
      },
    },
    failures: ['invalid_request', 'payload_too_large', 'resource_not_found', 'internal_error', 'service_unavailable'],
  },
} as const satisfies Readonly<Record<string, EndpointDocs>>

/** The same at `/v1/topups`, for apps with `wallet:topup`. */
export const APP_TOP_UP_DOCS = {
  topUp: { ...BILLING_DOCS.topUp, tag: 'Usage' },
  topUps: { ...BILLING_DOCS.topUps, tag: 'Usage' },
} as const satisfies Readonly<Record<string, EndpointDocs>>
