/** A call of generateContent or its streamed form. Google's SDK uses `/v1beta` or, since version 3, `/v1`. */
export const GENERATE_PATH = /^\/v1(?:beta)?\/models\/(.+)(?::|%3A)(generateContent|streamGenerateContent)$/i

/** Paths of Google's SDKs, where `x-goog-api-key` is accepted and errors use Google's format (spec-answers 2, 8). */
export function isGooglePath(path: string): boolean {
  return path.startsWith('/v1beta/') || GENERATE_PATH.test(path)
}
