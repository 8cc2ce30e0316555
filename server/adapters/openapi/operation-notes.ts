import { isPlainLine } from '../../core/plain-text'

const MAX_LISTED = 10

/** The omissions of one operation, as sentences that begin with its name, without repeats. */
export class OperationNotes {
  private readonly operation: string
  private readonly sentences = new Set<string>()
  private readonly unchecked = new Set<string>()
  private readonly open = new Set<string>()

  constructor(operation: string) {
    this.operation = operation
  }

  add(sentence: string): void {
    this.sentences.add(sentence)
  }

  notChecked(names: readonly string[]): void {
    for (const name of names) this.unchecked.add(name)
  }

  anyMembers(names: readonly string[]): void {
    for (const name of names) this.open.add(name)
  }

  get all(): string[] {
    const sentences = [...this.sentences]
    if (this.unchecked.size > 0) sentences.push(`The gateway does not check ${listed(this.unchecked)}.`)
    if (this.open.size > 0) sentences.push(`These accept any content, as nothing is declared: ${listed(this.open)}.`)
    return sentences.map((sentence) => `${this.operation}: ${sentence}`)
  }
}

/** Names in a sentence. */
export function listed(names: Iterable<string>): string {
  const all = [...names]
  const more = all.length - MAX_LISTED
  return `${all.slice(0, MAX_LISTED).map(shownPart).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** A name that a document gives to a part, in a message: short, and without anything that hides. */
export function shownPart(name: string): string {
  const plain = isPlainLine(name) ? name : name.replace(/[^\x20-\x7e]/g, '?')
  return plain.length > 200 ? `${plain.slice(0, 199)}…` : plain
}
