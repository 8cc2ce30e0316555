/**
 * The text when it is a path of this dashboard, else undefined: whoever made a link must not choose where a sign-in leads.
 * Browsers read `\` as `/` and drop control characters, so that neither may stand in it.
 */
export function safeRedirect(text: unknown): string | undefined {
  return typeof text === 'string' && /^\/(?!\/)[^\\\p{Cc}]*$/u.test(text) ? text : undefined
}
