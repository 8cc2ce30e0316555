import { givenNow } from '../../config'
import { ConfigError } from '../../config/config-error'
import { ALL_SETTINGS } from '../../config/schema/all-settings'
import { configurationSchema } from '../../config/schema/documentation'
import type { GivenSettings } from '../../config/sources/given-settings'
import { parsedArgsWith } from '../command'
import { CommandRefused, UsageError } from '../control-client'
import { asJson, count } from '../print'
import { PROGRAM } from '../program'
import { table } from '../table'
import type { Terminal } from '../terminal'
import { checkedSettings } from './checked-settings'

const CONFIG_HELP = `Usage: ${PROGRAM} config COMMAND

Shows the settings that a start in this environment would use: variables and the configuration file (docs/configuration.md).

  check     list everything that is wrong with them and with the models in MODELS_FILE
  print     show the settings that are set, their values, and where they come from. Secrets are hidden
    --all   also show the defaults of all other settings
  schema    print the JSON Schema of the configuration file, for editors

  --json    print the result as JSON
  --help    print this help

Exit codes: 0 success, 1 a setting is wrong, 2 wrong usage.
`

/** Runs a config command. Resolves to its output. */
export async function configCommand(
  args: readonly string[],
  { env, out }: Pick<Terminal, 'env' | 'out'>,
): Promise<string> {
  const { values, positionals } = parsed(args)
  const [command, ...rest] = positionals
  if (values.help || !command) return CONFIG_HELP
  if (rest.length > 0) throw new UsageError(`"config ${command}" takes no arguments; see --help`)
  if (command === 'schema') return asJson(configurationSchema())
  if (command === 'check') return checked(env, values.json ?? false, out)
  if (command !== 'print') throw new UsageError(`unknown config command "${command}"; see --help`)
  const rows = printed(givenOrRefused(env), values.all ?? false)
  if (values.json) return asJson(rows)
  return rows.length === 0
    ? 'No settings are set: all have their defaults. See --all.\n'
    : table(
        ['SETTING', 'VALUE', 'FROM'],
        rows.map(({ name, value, from }) => [name, value ?? '', from]),
      )
}

function parsed(args: readonly string[]) {
  return parsedArgsWith(args, {
    all: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
    json: { type: 'boolean' },
  })
}

type Env = Terminal['env']

async function checked(env: Env, json: boolean, out: Terminal['out']): Promise<string> {
  const { problems, warnings, notes, file } = await checkedSettings(env)
  const ok = problems.length === 0
  const lines = [...problems, ...warnings.map((line) => `warning: ${line}`), ...notes.map((line) => `note: ${line}`)]
  if (json) out(asJson({ ok, file, problems, warnings, notes }))
  else out(lines.map((line) => `${line}\n`).join(''))
  if (!ok) throw new CommandRefused(`${count(problems.length, 'problem')} in the settings`)
  return json ? '' : `The settings are valid${file === null ? '' : ` (environment and ${file})`}.\n`
}

function givenOrRefused(env: Env): GivenSettings {
  try {
    return givenNow(env)
  } catch (error) {
    throw error instanceof ConfigError ? new CommandRefused(error.message) : error
  }
}

interface Row {
  readonly name: string
  /** Null for a setting without a value. */
  readonly value: string | null
  readonly from: string
}

function printed(given: GivenSettings, all: boolean): readonly Row[] {
  return [...ALL_SETTINGS.values()].flatMap(({ name, secret, default: fallback, defaultText }): Row[] => {
    const from = given.from(name)
    if (from !== null) return [{ name, value: secret ? '(secret)' : given.read(name), from }]
    return all
      ? [{ name, value: fallback, from: `default${fallback === null && defaultText ? `: ${defaultText}` : ''}` }]
      : []
  })
}
