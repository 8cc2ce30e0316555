import type { EndpointDocs } from '../openapi/documented'
import { AccountRecord, LimitsRecord, OperatorClaim, OperatorClaimed } from './record'

const READING = { limit: 60, remaining: 59, reset: 1_795_219_260 }

export const ACCOUNT_DOCS = {
  account: {
    id: 'account',
    tag: 'Account',
    summary: 'Your account',
    description: 'The signed-in user, the tier and the balance with its breakdown.',
    answers: {
      200: {
        description: 'The account.',
        schema: AccountRecord,
        examples: {
          account: {
            id: 'acct_01a1fdfa942070018c603d2632ddc21c',
            email: 'ada@example.com',
            name: 'Ada',
            operator: true,
            support: false,
            tier: 'free',
            balance_micros_usd: 1_990_000,
            held_micros_usd: 0,
            credit_micros_usd: 1_990_000,
            signup_credit: 'granted',
            topped_up_micros_usd: 0,
            created_at: '2026-11-21T08:56:28.490Z',
            ip: '203.0.113.7',
            events_mark: '8f14e45f.12',
          },
        },
      },
    },
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
    answers: {
      200: {
        description: 'The account is now the operator.',
        schema: OperatorClaimed,
        examples: { claimed: { operator: true } },
      },
    },
    failures: [
      'insufficient_permissions',
      'json_parse_error',
      'invalid_request',
      'request_timeout',
      'payload_too_large',
      'unsupported_media_type',
    ],
  },
  limits: {
    id: 'limits',
    tag: 'Account',
    summary: 'Your limits',
    description: 'The tier, its limits per key, and what each key has left in the current minute, in pages.',
    answers: {
      200: {
        description: 'The limits.',
        schema: LimitsRecord,
        examples: {
          limits: {
            tier: 'free',
            limits: { requests_per_minute: 60, tokens_per_minute: 60_000, concurrency: 5 },
            keys: [
              {
                id: 'key_01a1fdfa942070018c603d2632ddc21b',
                name: 'My first key',
                requests: READING,
                tokens: { ...READING, limit: 60_000, remaining: 60_000 },
                concurrency: { limit: 5, remaining: 5 },
              },
            ],
            next_cursor: null,
          },
        },
      },
    },
    failures: ['invalid_parameter'],
  },
} as const satisfies Record<string, EndpointDocs>
