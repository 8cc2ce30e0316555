/** Encodings of documents and files, the smallest first. */
export const ENCODINGS = ['br', 'zstd', 'gzip'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** The first of `offered` that an Accept-Encoding takes (RFC 9110 12.5.3), or null. Apart from `q=0`, weights are ignored: smaller wins. */
export function acceptedEncoding(header: string | null, offered: readonly Encoding[] = ENCODINGS): Encoding | null {
  const accepted = new Set(
    (header ?? '')
      .toLowerCase()
      .split(',')
      .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
      .map((part) => part.split(';', 1)[0]?.trim()),
  )
  return offered.find((encoding) => accepted.has(encoding)) ?? null
}
