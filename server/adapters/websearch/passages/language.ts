import { eld } from 'eld/small'

/** Less text than this is not enough. */
const MIN_LETTERS = 40
/** More text than this does not improve the result. */
const MAX_CHARACTERS = 4000

/** Detects the language of a text, ISO 639-1; null when it is too short or undetermined. Code in Markdown is skipped. */
export function languageOf(text: string): string | null {
  const prose = text
    .slice(0, MAX_CHARACTERS * 3)
    .replaceAll(/```[\s\S]*?(?:```|$)|`[^`\n]*`|https?:\/\/\S+/g, ' ')
    .slice(0, MAX_CHARACTERS)
  if ((prose.match(/\p{L}/gu) ?? []).length < MIN_LETTERS) return null
  const found = eld.detect(prose)
  return found.language === '' || !found.isReliable() ? null : found.language
}
