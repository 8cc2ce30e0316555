import { GROWTH_TOP_UPS, ROUTE_RPM, TIER_LIMITS } from '../../../server/core/limits/tier.ts'
import { formatUsd } from '../../../server/core/money.ts'

const TO_GROWTH = `$${formatUsd(GROWTH_TOP_UPS)}`
const { starter, growth } = TIER_LIMITS

/** The Limits page. */
export const LIMIT_TEXT = {
  search: 'Search keys',
  yourTier: 'Your tier',
  tier: (name: string) => `${name} tier`,
  perKey: 'Limits per key:',
  firstTopUp: `Your first top-up moves you to Starter: ${starter.rpm} requests per minute.`,
  toGrowth: (paid: string) =>
    `${paid} of ${TO_GROWTH} topped up. At ${TO_GROWTH} you move to Growth: ${growth.rpm.toLocaleString('en-US')} requests per minute.`,
  toGrowthMeter: 'Progress to Growth',
  orRequest: 'You can also request an increase below. Approved requests move you to Growth immediately.',
  growth: 'You have the highest standard tier. For more, request an increase below.',
  enterprise: 'The operator of this gateway has set custom limits for your account.',
  live: 'In use now',
  liveTable: 'Usage of each key in the current minute',
  noKeys: 'No keys yet. Limits apply to each key separately.',
  createKey: 'Create key',
  columns: {
    key: 'Key',
    rpm: 'Requests this minute',
    tpm: 'Tokens this minute',
    concurrency: 'Concurrent requests',
    reset: 'Resets',
  },
  usedOf: (used: string, most: string) => `${used} of ${most}`,
  resetIn: (seconds: number) => `in ${seconds} s`,
  tiers: 'Tiers',
  tierTable: 'Limits of each tier',
  tierColumns: {
    tier: 'Tier',
    rpm: 'Requests per minute',
    tpm: 'Tokens per minute',
    concurrency: 'Concurrent requests',
    how: 'How to get it',
  },
  current: 'Current',
  how: {
    free: 'On sign-up',
    starter: 'First top-up',
    growth: `${TO_GROWTH} topped up, or an approved request`,
    enterprise: 'Set by the operator',
  },
  custom: 'Custom',
  rules: 'Endpoint limits',
  ruleList: [
    `Deep research: ${ROUTE_RPM.deepResearch} requests per minute per key.`,
    `generateContent: ${ROUTE_RPM.generateContent} requests per minute per key.`,
    'The concurrency limit applies to models and deep research, not to data endpoints.',
  ],
  retry: 'When a limit is reached',
  retryText:
    'The request fails with 429 and is not charged. Retry-After says how many seconds to wait. Every response includes the requests left in X-RateLimit-Remaining-Requests and the reset time in X-RateLimit-Reset-Requests.',
  retryAdvice:
    'Wait for the time in Retry-After. If it is missing, wait 1 s and double the wait after each attempt, up to 30 s. Add up to 25% of random jitter so that your clients do not retry at the same moment.',
  request: 'Request an increase',
  requestText: 'The operator of this gateway usually responds within one business day.',
  peakRpm: 'Peak requests per minute',
  peakTpm: 'Peak tokens per minute',
  aboveNow: (now: string) => `Currently ${now}.`,
  endpoints: 'Endpoints',
  models: 'Models',
  social: 'Social accounts',
  useCase: 'Use case',
  useCaseHint: '20 to 2,000 characters. Describe who uses it, when usage peaks, and how you estimated the numbers.',
  submit: 'Request an increase',
  sent: 'Request sent.',
  wholeNumber: 'Enter a whole number.',
  oneAbove: (rpm: string, tpm: string) =>
    `Enter more than ${rpm} requests or ${tpm} tokens per minute, your current limits.`,
  oneEndpoint: 'Choose at least one.',
  useCaseShort: 'Enter at least 20 characters.',
  history: 'Your requests',
  states: { pending: 'Pending', approved: 'Approved', declined: 'Declined' },
  pendingText: 'The operator usually responds within one business day. You can have one pending request at a time.',
  requested: (rpm: string, tpm: string) => `${rpm} requests and ${tpm} tokens per minute`,
  historyTable: 'Your requests for higher limits',
  requestColumns: { asked: 'Requested', status: 'Status', answer: 'Answer', at: 'Sent' },
  noRequests: 'No requests yet.',
} as const
