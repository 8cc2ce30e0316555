/**
 * Returns the text if it is a path of this dashboard, else undefined, so that a crafted link cannot choose where a sign-in leads.
 * Browsers read `\` as `/` and drop control characters, so neither is allowed.
 */
export function safeRedirect(text: unknown): string | undefined {
  return typeof text === 'string' && /^\/(?!\/)[^\\\p{Cc}]*$/u.test(text) ? text : undefined
}
