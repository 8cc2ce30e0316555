import { type Block, parseMarkdown, type Section } from '../../passages/markdown-sections'

/** A section for a documented or exported name of a type file. */
export interface TypeEntry {
  readonly section: Section
  readonly documented: boolean
}

const COMMENT = /\/\*\*(?!\/)([\s\S]*?)\*\//g
const OWNER =
  /^(?:export )?(?:declare )?(?:default )?(?:abstract )?(?:class|interface|namespace|module|enum) ([\w$"':/.-]+)/gm
const NAMED =
  /^(?:export )?(?:declare )?(?:default )?(?:abstract )?(?:async )?(?:function|class|interface|type|const|let|var|enum|namespace|module) ["']?([\w$:/.-]+)/
const MEMBER = /^(?:(?:readonly|static|public|protected|abstract|get|set|async) )*["']?([\w$-]+)["']?\s*[?!]?\s*[(:<]/
const EXPORTED = /^export (?:declare )?(?:abstract )?(?:function|class|interface|const|type|enum) [\w$]+[^\n]*/gm
const NOISE = /@license|@internal|@preserve|copyright|sourceMappingURL|eslint-disable/i

/** The doc comments of a type file with the declaration that each describes, then the exported declarations without one. */
export function typeEntries(source: string): TypeEntry[] {
  const owners = [...source.matchAll(OWNER)].map((found) => ({ at: found.index, name: unquoted(found[1] ?? '') }))
  const documentedAt = new Set<number>()
  const entries: TypeEntry[] = []
  for (const found of source.matchAll(COMMENT)) {
    const comment = found[1] ?? ''
    const end = found.index + found[0].length
    const start = end + (/^\s*/.exec(source.slice(end, end + 200))?.[0].length ?? 0)
    documentedAt.add(start)
    if (NOISE.test(comment)) continue
    const declaration = declarationAt(source, start)
    const name = declaredName(declaration)
    const text = commentText(comment)
    if (!/[\p{L}\p{N}]/u.test(text)) continue
    const isMember = source[found.index - 1] === ' ' || source[found.index - 1] === '\t'
    const owner = isMember ? owners.findLast((candidate) => candidate.at < found.index)?.name : undefined
    const path = [owner, name].filter((part) => part !== undefined && part !== '') as string[] // ensured by the filter
    const blocks = parseMarkdown(text).sections.flatMap((section): readonly Block[] => section.blocks)
    if (blocks.length > 0) entries.push({ section: { path, blocks: withCode(blocks, declaration) }, documented: true })
  }
  return [...entries, ...bareExports(source, documentedAt)]
}

function bareExports(source: string, documentedAt: ReadonlySet<number>): TypeEntry[] {
  return [...source.matchAll(EXPORTED)]
    .filter((found) => !documentedAt.has(found.index))
    .map((found) => {
      const lines = source.slice(found.index, found.index + 600).split('\n')
      const end = lines.findIndex(
        (line, at) => (at > 0 && /^(?:export|\}|\/\*\*)/.test(line)) || (at === 0 && /;$/.test(line)),
      )
      const code = lines.slice(0, end === -1 ? 10 : end + 1).join('\n')
      return {
        section: { path: [declaredName(code)].filter((name) => name !== ''), blocks: withCode([], code) },
        documented: false,
      }
    })
}

function withCode(blocks: readonly Block[], declaration: string): Block[] {
  return declaration === '' ? [...blocks] : [...blocks, { text: `\`\`\`ts\n${declaration}\n\`\`\``, kind: 'code' }]
}

/** The first lines of the declaration after a comment, up to its body or its end. */
function declarationAt(source: string, start: number): string {
  const text = source.slice(start, start + 400)
  if (text.startsWith('/*') || text.startsWith('import ')) return ''
  const lines = text.split('\n').slice(0, 4)
  const end = lines.findIndex((line) => /[;{]\s*$/.test(line))
  return lines
    .slice(0, end === -1 ? 1 : end + 1)
    .map((line) => line.trim())
    .join('\n')
    .replace(/\s*\{$/, '')
}

function declaredName(declaration: string): string {
  return unquoted((NAMED.exec(declaration) ?? MEMBER.exec(declaration))?.[1] ?? '')
}

function unquoted(name: string): string {
  return name.replaceAll(/["']/g, '')
}

function commentText(comment: string): string {
  return comment
    .replaceAll(/^[ \t]*\* ?/gm, '')
    .replaceAll(
      /\{@(?:link|linkcode|linkplain|inheritDoc)\s+([^}|\s]*)(?:[|\s]+([^}]*))?\}/g,
      (_, target: string, label) => {
        return typeof label === 'string' && label.trim() !== '' ? label.trim() : target
      },
    )
    .replaceAll(/^@(?:example|default|defaultValue|deprecated|returns?|throws|remarks|see|since)\b[ \t]*/gm, (tag) => {
      return `${tag.trim().slice(1)}: `
    })
    .replaceAll(/^@(?:param|typeParam|template|property)\s+(?:\{[^}\n]*\}\s*)?/gm, '- ')
    .replaceAll(/^@(?:group|category|module|public|since|description|memberof)\b[ \t]*/gim, '')
    .trim()
}
