import { parsedArgsWith } from '../command'
import { askServer, readFromServer, saveFromServer, UsageError } from '../control-client'
import { asJson } from '../print'
import { PROGRAM } from '../program'
import { recordText } from '../record-text'
import type { CommandTools, Given, OperatorCommand, RouteCommand } from './operator-command'
import { OPERATOR_COMMANDS } from './operator-commands'

const HELP_FLAGS = ['--help', '-h']
/** Options that have another name in the API. */
const FIELDS: Readonly<Record<string, string>> = { by: 'group_by' }

/** Runs an operator command. Resolves to its output; files go to `out` piece by piece, and progress to `tell`. */
export async function operatorCommand(
  args: readonly string[],
  ask: CommandTools['ask'],
  out: (text: string) => void,
  tell: CommandTools['tell'] = () => undefined,
): Promise<string> {
  const given = args.filter((arg) => !arg.startsWith('-'))
  const asksForHelp = args.some((arg) => HELP_FLAGS.includes(arg))
  if (asksForHelp || given.length === 0) return help(given)
  const command = commandOf(given)
  if (!command) throw new UsageError(`unknown operator command "${unknownName(given)}"; see --help`)
  return 'run' in command
    ? command.run(args.slice(wordsOf(command).length), { ask, tell })
    : runRoute(command, args, out)
}

function wordsOf({ words }: OperatorCommand): readonly string[] {
  return words.split(' ')
}

/** The command with these words; of several, the one with the most. */
function commandOf(given: readonly string[]): OperatorCommand | undefined {
  const named = (length: number) => OPERATOR_COMMANDS.find(({ words }) => words === given.slice(0, length).join(' '))
  return named(2) ?? named(1)
}

function unknownName([first = '', ...rest]: readonly string[]): string {
  const isGroup = OPERATOR_COMMANDS.some(({ words }) => words.startsWith(`${first} `))
  return isGroup ? [first, ...rest.slice(0, 1)].join(' ') : first
}

async function runRoute(command: RouteCommand, args: readonly string[], out: (text: string) => void): Promise<string> {
  const { json, csv, out: file, ...given } = givenTo(command, args)
  const { method, path, rest } = await requestOf(command, given)
  const query = method === 'GET' ? queryText(rest) : ''
  if (command.file && (csv || command.file.isOnly)) {
    const address = `${path}.csv${query}`
    if (typeof file === 'string') return saveFromServer(address, file, command.file.end)
    await readFromServer(address, out, command.file.end)
    return ''
  }
  const body = method === 'GET' ? undefined : rest
  const answer = Object(await askServer(method, path + query, body))
  const shown = command.more ? await command.more(answer, given) : answer
  if (json) return asJson(shown)
  return command.print ? command.print(shown) : recordText(shown, command.columns)
}

/** The arguments and options by name. Throws `UsageError` if one is missing, unknown or too many. */
function givenTo(command: RouteCommand, args: readonly string[]): Given {
  const { args: names = [], needs = [] } = command
  const options = Object.entries(optionsOf(command)).map(([name, value]) => [
    name,
    { type: value === true ? 'boolean' : 'string' } as const,
  ])
  const { positionals, ...parsed } = parsedArgsWith(args, Object.fromEntries(options))
  const values = parsed.values as Given // none may be repeated
  const words = positionals.slice(wordsOf(command).length)
  const required = names.filter((name) => !name.endsWith('?')).length
  if (words.length < required || words.length > names.length)
    throw new UsageError(`"operator ${command.words}" takes ${argsText(command) || 'options only'}; see --help`)
  const missing = needs.find((name) => values[name] === undefined)
  if (missing !== undefined)
    throw new UsageError(`"operator ${command.words}" needs --${missing} ${optionsOf(command)[missing]}; see --help`)
  return { ...values, ...Object.fromEntries(words.map((word, i) => [names[i]?.replace('?', '') ?? '', word])) }
}

/** The request of a command: values that its path does not name are its query or its body. */
async function requestOf(command: RouteCommand, given: Given) {
  const { route: chosen } = command
  const [method = '', route = ''] = (typeof chosen === 'string' ? chosen : chosen(given)).split(' ')
  const values: Record<string, unknown> = { ...(command.read ? await command.read(given) : given) }
  const path = route.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = values[name]
    delete values[name]
    return encodeURIComponent(String(value))
  })
  const rest = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [FIELDS[name] ?? name.replaceAll('-', '_'), value])
  return { method, path: `/api/operator${path}`, rest: Object.fromEntries(rest) as Readonly<Record<string, unknown>> }
}

function queryText(values: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)]))
  return query.size === 0 ? '' : `?${query}`
}

/** All options of a command, with the placeholder of their value; true: they have none. */
function optionsOf({ options, isPaged, file }: RouteCommand): Readonly<Record<string, string | true>> {
  return {
    ...options,
    ...(isPaged && { limit: 'N', cursor: 'TEXT' }),
    ...(file && { ...(!file.isOnly && { csv: true as const }), out: 'FILE' }),
    json: true,
  }
}

function argsText({ args = [] }: RouteCommand): string {
  return args.map((arg) => (arg.endsWith('?') ? `[${arg.slice(0, -1).toUpperCase()}]` : arg.toUpperCase())).join(' ')
}

function usageOf(command: OperatorCommand): string {
  if ('run' in command) return `${command.words} ${command.usage}`.trimEnd()
  const options = Object.entries(optionsOf(command))
    .filter(([name]) => name !== 'json')
    .map(([name, value]) => {
      const text = value === true ? `--${name}` : `--${name} ${value}`
      return command.needs?.includes(name) ? text : `[${text}]`
    })
  return [command.words, argsText(command), ...options].filter((part) => part !== '').join(' ')
}

const ACCOUNT_IS = 'ACCOUNT is an id (acct_...) or a confirmed email address.'
const OPERATION_IS = 'OPERATION is the name of a price, such as image-search.'

/** The help of one command, of those that begin with a word, or of all. */
function help(given: readonly string[]): string {
  const one = commandOf(given)
  const begun = OPERATOR_COMMANDS.filter(({ words }) => words.split(' ')[0] === given[0])
  const some = one && (given.length > 1 || begun.length === 1) ? [one] : begun
  const shown = some.length > 0 ? some : OPERATOR_COMMANDS
  const usages = shown.map((command) => `  ${usageOf(command)}\n      ${command.about}\n`).join('')
  const legends = [
    ...(/ ACCOUNT\b/.test(usages) ? [`${ACCOUNT_IS}\n`] : []),
    ...(/ OPERATION\b/.test(usages) ? [`${OPERATION_IS}\n`] : []),
    ...(shown === OPERATOR_COMMANDS ? [] : new Set(shown.flatMap(({ legend = [] }) => legend))),
  ].join('\n')
  const rest =
    shown === OPERATOR_COMMANDS
      ? 'Exit codes: 0 success, 1 refused by the server, 2 wrong usage (nothing was sent).\n'
      : `"${PROGRAM} operator --help" lists all commands.\n`
  const head = `Usage: ${PROGRAM} operator COMMAND [--json]\n\nManages the server that runs on DATA_DIR (default: data). --json prints the response as JSON.\n`
  return [head, usages, ...(legends === '' ? [] : [legends]), rest].join('\n')
}
