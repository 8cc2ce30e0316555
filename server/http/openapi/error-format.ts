/** Whose SDKs read the errors of a route: the shape differs (`failureBody`). */
export type ErrorFormat = 'gateway' | 'anthropic' | 'google'

/** The schema of each format in `components`, and a path whose errors have it. */
export const ERROR_FORMATS: Readonly<Record<ErrorFormat, { readonly schema: string; readonly path: string }>> = {
  gateway: { schema: 'Error', path: '/' },
  anthropic: { schema: 'AnthropicError', path: '/v1/messages' },
  google: { schema: 'GoogleError', path: '/v1beta/models' },
}
