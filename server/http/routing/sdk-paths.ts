/** A call of generateContent or its streamed form. Google's SDK uses `/v1beta` or, since version 3, `/v1`. */
export const GENERATE_PATH = methodPath('generateContent', 'streamGenerateContent')
export const COUNT_TOKENS_PATH = methodPath('countTokens')
export const EMBED_PATH = methodPath('embedContent', 'batchEmbedContents')

const METHODS = ['generateContent', 'streamGenerateContent', 'countTokens', 'embedContent', 'batchEmbedContents']
const CALL_PATH = methodPath(...METHODS)

/** The path of a model's id below `version`, which may contain slashes. A call is another path: reading it is a 405. */
export function modelPath(version: 'v1' | 'v1beta'): RegExp {
  return new RegExp(`^\\/${version}\\/models\\/(?!.+(?::|%3[Aa])(?:${METHODS.join('|')})$)[^/]+(\\/[^/]+)*$`)
}

/** The model and the method of a call by Google's SDK, as in its path; null for other paths. */
export function googleCall(path: string): { readonly model: string; readonly method: string } | null {
  const [, model, method] = CALL_PATH.exec(path) ?? []
  return model === undefined || method === undefined ? null : { model, method }
}

function methodPath(...methods: readonly string[]): RegExp {
  return new RegExp(`^\\/v1(?:beta)?\\/models\\/(.+)(?::|%3[Aa])(${methods.join('|')})$`)
}

/** Paths of Google's SDKs, where errors use Google's format (spec D2, D8). */
export function isGooglePath(path: string): boolean {
  return path.startsWith('/v1beta/') || CALL_PATH.test(path)
}

/** Paths of Anthropic's SDK, where errors use Anthropic's format. */
export function isAnthropicPath(path: string): boolean {
  return path === '/v1/messages' || path === '/v1/messages/count_tokens'
}
