import type { Model } from '../../../core/models/model'
import { ZERO } from '../../../core/money'

const FREE = { input: ZERO, output: ZERO, cacheRead: ZERO, cacheWrite: ZERO }

const NAMES = [
  ['echo', 'text'],
  ['embed', 'embeddings'],
  ['extract', 'text'],
] as const

/** The models inside the gateway: free, deterministic, and named so that nobody mistakes them for real ones. */
export const SANDBOX_MODELS: readonly Model[] = NAMES.map(([name, purpose]) => ({
  id: `sandbox/${name}`,
  ownedBy: 'sandbox',
  purpose,
  created: 1_767_225_600,
  upstreams: [
    {
      kind: 'sandbox',
      baseUrl: '',
      keyEnv: null,
      model: name,
      concurrency: 1000,
      connectMs: 1000,
      firstByteMs: 30_000,
      idleMs: 30_000,
      capName: 'max_tokens',
      speaksResponses: false,
    },
  ],
  price: FREE,
  priceVersion: 'sandbox',
  rechargeRequired: false,
  contextTokens: 524_288,
  maxOutputTokens: null,
  defaultOutputTokens: null,
  imageTokens: 1,
  extraMembers: [],
  betas: [],
  family: null,
  stopsBilling: false,
  tokensPerSecond: 1,
}))
