import { elementsOf, isJson, jsonText, membersOf } from '../../core/json'

/** A page that a search found. The answer cites it as `[number]`. */
export interface ResearchSource {
  readonly number: number
  readonly title: string
  readonly url: string
  readonly snippets: readonly string[]
}

/** Maximum bytes of sources in a prompt, which bounds the cost of reading them. */
export const MAX_SOURCE_BYTES = 48 * 1024
const MAX_QUERY_LENGTH = 300
const LINE = /^\s*(?:[-*\d.)]+\s*)?QUERY:\s*(.+)$/gim

export interface ChatTurn {
  readonly role: 'system' | 'user'
  readonly content: string
}

export function planPrompt(question: string, max: number): ChatTurn[] {
  return [
    {
      role: 'system',
      content: `You plan research. Reply with at most ${max} lines and nothing else. Begin each line with the word QUERY, a colon, and one short web search.`,
    },
    { role: 'user', content: question },
  ]
}

export function gapPrompt(question: string, sources: readonly ResearchSource[], max: number): ChatTurn[] {
  return [
    {
      role: 'system',
      content: `You check research. If the sources below answer the question, reply DONE. Otherwise reply with at most ${max} lines, each with the word QUERY, a colon, and one short web search for what is missing.`,
    },
    { role: 'user', content: `${sourceLines(sources)}\n\n${question}` },
  ]
}

export function answerPrompt(question: string, sources: readonly ResearchSource[]): ChatTurn[] {
  return [
    {
      role: 'system',
      content:
        'You answer from the numbered lines of the next message only. Put the number of the line behind each statement, as in [1]. Where the lines do not tell, write that they do not.',
    },
    { role: 'user', content: `${sourceLines(sources)}\n\n${question}` },
  ]
}

/** At most `max` searches from a plan, without those already made. */
export function plannedQueries(reply: string, max: number, made: readonly string[]): string[] {
  const known = new Set(made.map((query) => query.toLowerCase()))
  const queries: string[] = []
  for (const [, text = ''] of reply.matchAll(LINE)) {
    const query = shortened(text)
    if (query === '' || known.has(query.toLowerCase())) continue
    known.add(query.toLowerCase())
    queries.push(query)
  }
  return queries.slice(0, max)
}

/** Searches made from the question itself and its parts, for a model that plans none. */
export function questionQueries(question: string, max: number): string[] {
  const parts = question
    .slice(0, 10 * MAX_QUERY_LENGTH)
    .split(/[?;\n]+|\s+and\s+/i)
    .map(shortened)
  const whole = shortened(question)
  return [...new Set([whole, ...parts.filter((part) => part.split(' ').length > 2)])]
    .filter((query) => query !== '')
    .slice(0, max)
}

/** Shortened to the limits of a search: 600 characters and 75 words (spec 4.2). Cut first, since a pattern's time grows with the text. */
function shortened(text: string): string {
  const cut = text.trim().slice(0, MAX_QUERY_LENGTH).split(/\s+/).slice(0, 40).join(' ')
  return cut.replace(/^["']|["'?!.\s]+$/g, '').trim()
}

/** Each sentence of each source on its own line, followed by the source's number; as many as fit. */
function sourceLines(sources: readonly ResearchSource[]): string {
  const lines: string[] = []
  let bytes = 0
  for (const { number, title, url, snippets } of sources) {
    const own = [`[${number}] ${title} (${url})`, ...snippets.flatMap((snippet) => sentencesOf(snippet, number))]
    for (const line of own) {
      bytes += Buffer.byteLength(line) + 1
      if (bytes > MAX_SOURCE_BYTES) return lines.join('\n')
      lines.push(line)
    }
  }
  return lines.join('\n')
}

function sentencesOf(snippet: string, number: number): string[] {
  return snippet
    .split(/\n+|(?<=[.!?])\s+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
    .map((sentence) => `${sentence} [${number}]`)
}

/** The pages in an LLM context answer. */
export function foundPages(answer: unknown): Omit<ResearchSource, 'number'>[] {
  return elementsOf(membersOf(membersOf(answer)['grounding'])['generic'])
    .filter(isJson)
    .map(({ url, title, snippets }) => ({
      url: jsonText(url),
      title: jsonText(title ?? url),
      snippets: elementsOf(snippets).map(jsonText),
    }))
}

/** The sources that the answer cites, each once, ordered by number. */
export function citedSources(answer: string, sources: readonly ResearchSource[]): ResearchSource[] {
  const cited = new Set([...answer.matchAll(/\[(\d{1,3})\]/g)].map(([, number]) => Number(number)))
  return sources.filter(({ number }) => cited.has(number))
}
