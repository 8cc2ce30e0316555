import { JSON_FAILURES } from '../openapi/body-failures'
import type { EndpointDocs } from '../openapi/documented'
import { AccountRecord, LimitsRecord, OperatorClaim, OperatorClaimed } from './record'

export const ACCOUNT_DOCS = {
  account: {
    id: 'account',
    tag: 'Account',
    summary: 'Your account',
    description: 'The signed-in user, the tier and the balance with its breakdown.',
    answers: { 200: { description: 'The account.', schema: AccountRecord } },
    failures: [],
  },
  operator: {
    id: 'claimOperator',
    tag: 'Account',
    summary: 'Claim operator rights',
    description:
      'Makes this account the operator. Needs the one-time setup token that the gateway printed when it first started.',
    body: {
      description: 'The token.',
      schema: OperatorClaim,
      required: true,
      examples: { printed: { token: '$SETUP_TOKEN' } },
    },
    answers: { 200: { description: 'The account is now the operator.', schema: OperatorClaimed } },
    failures: ['insufficient_permissions', ...JSON_FAILURES],
  },
  limits: {
    id: 'limits',
    tag: 'Account',
    summary: 'Your limits',
    description: 'The tier, its limits per key, and what each key has left in the current minute, in pages.',
    answers: { 200: { description: 'The limits.', schema: LimitsRecord } },
    failures: ['invalid_parameter'],
  },
} as const satisfies Record<string, EndpointDocs>
