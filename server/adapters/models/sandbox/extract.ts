import type { Prompt, SandboxReply } from './prompt'

const MAX_SENTENCES = 5
const COMMON = new Set(
  'a an and are as at be by can could do does for from give has have how i in is it its me my of on or please should tell than that the their them then there these this to using was were what when where which who why will with would you your about'.split(
    ' ',
  ),
)

/**
 * `sandbox/extract`: answers a question only from the text it was given, by picking sentences of it. The question is the last
 * line of the last message; everything before it is the text. It never says anything that is not in the text.
 */
export function extract({ turns }: Prompt): SandboxReply {
  const last = turns.findLast(({ role }) => role === 'user' || role === 'tool')
  const lines = (last?.text ?? '').split('\n').filter((line) => line.trim() !== '')
  const question = lines.at(-1) ?? ''
  const given = [
    ...turns.filter((turn) => turn !== last && turn.role !== 'assistant').map(({ text }) => text),
    ...lines.slice(0, -1),
  ]
  const sentences = given.flatMap(sentencesOf)
  const questionWords = new Set(wordsOf(question))
  const found = new Map<string, number>()
  for (const sentence of sentences)
    for (const word of new Set(wordsOf(sentence))) found.set(word, (found.get(word) ?? 0) + 1)
  const ranked = sentences
    .map((sentence, index) => {
      const hits = [...new Set(wordsOf(sentence))].filter((word) => questionWords.has(word))
      // A rare word is more significant than a common one.
      const score = hits.reduce((sum, word) => sum + Math.log(1 + sentences.length / (found.get(word) ?? 1)), 0)
      return { sentence, index, score: score / (1 + Math.log(1 + sentence.length / 400)) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
  const picked = ranked.slice(0, MAX_SENTENCES).sort((a, b) => a.index - b.index)
  const text = [...new Set(picked.map(({ sentence }) => sentence))].join(' ')
  return { kind: 'text', text: text === '' ? 'The text that I was given does not say.' : text }
}

function sentencesOf(text: string): string[] {
  return text
    .split(/\n+|(?<=[.!?](?:\s\[\d+\])?)\s+(?!\[\d)/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
}

/** Words without inflectional endings, so that "relations" finds "relation". */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [])
    .filter((word) => !COMMON.has(word))
    .map((word) => (word.length > 4 ? word.replace(/(ies|es|s|ing|ed)$/, '') : word))
}
