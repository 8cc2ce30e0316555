import type { Model, ModelPurpose } from '../../../core/models/model'
import type { ModelPrice } from '../../../core/models/unit-price'
import { ZERO } from '../../../core/money'

const FREE = [{ rates: { input: ZERO, output: ZERO, cache_read: ZERO, cache_write: ZERO } }]

const MODELS = [
  ['draw', 'images', { unit: 'image', amount: ZERO, sizes: [], edits: ZERO }],
  ['echo', 'text', FREE],
  ['embed', 'embeddings', FREE],
  ['extract', 'text', FREE],
  ['moderate', 'moderation', { unit: 'character', amount: ZERO }],
  ['rerank', 'rerank', { unit: 'search', amount: ZERO }],
  ['speak', 'speech', { unit: 'character', amount: ZERO }],
  ['transcribe', 'transcription', { unit: 'second', amount: ZERO }],
] as const satisfies readonly (readonly [string, ModelPurpose, ModelPrice])[]

/** The models inside the gateway: free, deterministic, and named so that they are not mistaken for real ones. */
export const SANDBOX_MODELS: readonly Model[] = MODELS.map(([name, purpose, price]) => ({
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
  price,
  purchasePrice: price,
  fallback: [],
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
