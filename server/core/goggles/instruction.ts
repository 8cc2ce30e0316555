import { err, ok, type Result } from '../result'
import { type Pattern, parsePattern } from './pattern'

export type Target = 'url' | 'title' | 'description' | 'content'
export type Action = 'boost' | 'downrank' | 'discard'

/** An instruction of a goggle. */
export interface Instruction {
  readonly pattern: Pattern | null
  readonly target: Target
  /** A domain in lower case, without a leading dot. Includes its subdomains. */
  readonly site: string | null
  readonly action: Action
  /** 1 to 10. */
  readonly strength: number
}

const MAX_STRENGTH = 10
const MAX_CHARACTERS = 500
const DOMAIN = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/

const TARGETS: Readonly<Record<string, Target>> = {
  inurl: 'url',
  intitle: 'title',
  indescription: 'description',
  incontent: 'content',
}

/** Parses a line that is neither blank nor a comment. The error is the broken rule. */
export function parseInstruction(line: string): Result<Instruction, string> {
  if (line.length > MAX_CHARACTERS && [...line].length > MAX_CHARACTERS)
    return err(`an instruction has at most ${MAX_CHARACTERS} characters`)
  const split = splitOptions(line)
  if (!split.ok) return split
  const { text, options } = split.value
  const pattern = text === '' ? null : parsePattern(text)
  if (typeof pattern === 'string') return err(pattern)
  const { site = null, action = 'boost', strength = 1 } = options
  if (pattern === null && options.target) return err('a target needs a pattern before the $')
  if (pattern === null && site === null && action !== 'discard') return err(`$${action} needs a pattern or a site`)
  return ok({ pattern, target: options.target ?? 'url', site, action, strength })
}

/** Whether the instruction is a plain `$discard`, which removes every result that no other instruction matches. */
export function isGenericDiscard({ pattern, site }: Instruction): boolean {
  return pattern === null && site === null
}

interface Options {
  readonly site?: string
  readonly target?: Target
  readonly action?: Action
  readonly strength?: number
}

/** The options start at the last `$` behind which everything is an option; a pattern may hold a `$` of its own. */
function splitOptions(line: string): Result<{ readonly text: string; readonly options: Options }, string> {
  let problem: string | null = null
  for (let at = line.lastIndexOf('$'); at >= 0; at = at === 0 ? -1 : line.lastIndexOf('$', at - 1)) {
    const options = parseOptions(line.slice(at + 1))
    if (options.ok) return ok({ text: line.slice(0, at).trim(), options: options.value })
    problem ??= options.error
  }
  return problem === null ? ok({ text: line, options: {} }) : err(problem)
}

function parseOptions(text: string): Result<Options, string> {
  let options: Options = {}
  for (const part of text.split(',')) {
    const option = parseOption(part.trim())
    if (typeof option === 'string') return err(option)
    if (option.site !== undefined && options.site !== undefined) return err('site is given twice')
    if (option.target && options.target) return err('a second target')
    if (option.action && options.action) return err('a second action')
    options = { ...options, ...option }
  }
  return ok(options)
}

function parseOption(text: string): Options | string {
  const at = text.indexOf('=')
  const name = (at < 0 ? text : text.slice(0, at)).toLowerCase()
  const value = at < 0 ? null : text.slice(at + 1)
  if (text === '') return 'an empty option'
  if (name === 'site') return value ? siteOption(value) : 'site needs a domain, as in site=example.com'
  const target = Object.hasOwn(TARGETS, name) ? TARGETS[name] : undefined
  if (target) return value === null ? { target } : `${name} takes no value`
  if (name === 'discard') return value === null ? { action: 'discard' } : 'discard takes no value'
  if (name !== 'boost' && name !== 'downrank') return `"${name.slice(0, 40)}" is no option`
  if (value === null) return { action: name, strength: 1 }
  const strength = /^\d{1,2}$/.test(value) ? Number(value) : 0
  if (strength < 1 || strength > MAX_STRENGTH) return `${name} goes from 1 to ${MAX_STRENGTH}`
  return { action: name, strength }
}

function siteOption(value: string): Options | string {
  const bare = value.replace(/^\./, '').toLowerCase()
  const site = /^[\x20-\x7e]*$/.test(bare) ? bare : (URL.parse(`http://${bare}`)?.hostname ?? '')
  return DOMAIN.test(site) ? { site } : `site must be a domain, not "${value.slice(0, 80)}"`
}
