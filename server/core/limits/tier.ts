import { type Money, micros } from '../money'

export const TIERS = ['free', 'starter', 'growth', 'enterprise'] as const
export type Tier = (typeof TIERS)[number]

/** Limits per key (spec 8). */
export interface Limits {
  /** Requests per minute. */
  readonly rpm: number
  /** Input plus output tokens per minute. */
  readonly tpm: number
  /** Simultaneous streaming or long-running requests. */
  readonly concurrency: number
}

export const TIER_LIMITS: Record<Exclude<Tier, 'enterprise'>, Limits> = {
  free: { rpm: 60, tpm: 60_000, concurrency: 5 },
  starter: { rpm: 600, tpm: 600_000, concurrency: 20 },
  growth: { rpm: 3_000, tpm: 3_000_000, concurrency: 50 },
}

/** Requests per minute and key of routes that have a limit of their own. */
export const ROUTE_RPM = { deepResearch: 5, generateContent: 30 } as const

/** The paid top-ups that make an account Growth. */
export const GROWTH_TOP_UPS: Money = micros(500_000_000)

export interface TierFacts {
  /** Sum of paid top-ups. */
  readonly toppedUp: Money
  readonly growthApproved: boolean
  /** Set by an operator; makes the account Enterprise. */
  readonly customLimits: Limits | null
  /** The number of live keys that an operator allowed, or null for `MAX_KEYS`. */
  readonly maxKeys: number | null
}

/** The default maximum of live keys per account (spec D3). */
export const MAX_KEYS = 1000

/** The tier of an account, computed and never stored (spec 3, spec D4). */
export function tierOf(facts: TierFacts): Tier {
  if (facts.customLimits) return 'enterprise'
  if (facts.growthApproved || facts.toppedUp >= GROWTH_TOP_UPS) return 'growth'
  return facts.toppedUp > 0 ? 'starter' : 'free'
}

export function limitsOf(facts: TierFacts): Limits {
  const tier = tierOf(facts)
  return facts.customLimits ?? TIER_LIMITS[tier === 'enterprise' ? 'growth' : tier]
}

/** The limits of a key, which may lower those of its tier but not raise them. */
export function withKeyLimits(limits: Limits, key: { rpmLimit: number | null; tpmLimit: number | null }): Limits {
  return {
    rpm: Math.min(limits.rpm, key.rpmLimit ?? limits.rpm),
    tpm: Math.min(limits.tpm, key.tpmLimit ?? limits.tpm),
    concurrency: limits.concurrency,
  }
}
