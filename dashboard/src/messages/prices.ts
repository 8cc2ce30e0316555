/** Prices of operations, in words. */
export const PRICE_TEXT = {
  free: 'Free',
  perCall: (usd: string) => `${usd} per call`,
  perUnit: (usd: string, unit: string) => `${usd} per ${unit}`,
  units: { characters: 'characters', kilobytes: 'KB', events: 'events' } as Readonly<Record<string, string>>,
  entries: (pointer: string) => `entries of ${pointer}`,
  header: (name: string) => `units of ${name}`,
  atMost: (usd: string) => `at most ${usd}`,
  bounded: (parameter: string) => `bounded by ${parameter}`,
  reported: (multiplier: string) => (multiplier === '1' ? "Upstream's bill" : `Upstream's bill × ${multiplier}`),
  unknown: 'See the API docs',
} as const
