/** A call of generateContent or its streamed form. Google's SDK makes it below `/v1beta` or, since its version 3, below `/v1`. */
export const GENERATE_PATH = /^\/v1(?:beta)?\/models\/(.+)(?::|%3A)(generateContent|streamGenerateContent)$/i

/** Where Google's SDKs knock: their way to show a key is taken, and failures have Google's shape (spec-answers 2, 8). */
export function isGooglePath(path: string): boolean {
  return path.startsWith('/v1beta/') || GENERATE_PATH.test(path)
}
