/** Prices of operations, in words. */
export const PRICE_TEXT = {
  free: 'Free',
  perCall: (usd: string) => `${usd} per call`,
  perUnit: (usd: string, unit: string) => `${usd} per ${unit}`,
  /** Of one, and of several. */
  units: {
    characters: ['character', 'characters'],
    kilobytes: ['KB', 'KB'],
    events: ['event', 'events'],
  } as Readonly<Record<string, readonly [string, string]>>,
  entries: (pointer: string) => [`entry of ${pointer}`, `entries of ${pointer}`] as const,
  header: (name: string) => [`unit of ${name}`, `units of ${name}`] as const,
  atMost: (usd: string) => `at most ${usd}`,
  bounded: (parameter: string) => `bounded by ${parameter}`,
  reported: (multiplier: string) => (multiplier === '1' ? "Upstream's bill" : `Upstream's bill × ${multiplier}`),
  unknown: 'See the API docs',
} as const
