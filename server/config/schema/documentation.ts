import { SECRETS } from '../sources/configuration-file'
import { SETTING_GROUPS } from './all-settings'
import type { JsonSchema, Setting, SettingGroup } from './setting'

/** Where docs/ has the schema. */
export const SCHEMA_FILE = 'gateway.schema.json'

const INTRO = `# Configuration

This page is generated: \`bun run settings\` writes it from \`server/config/\`.

Settings come from environment variables and from a [file](#the-configuration-file); the environment wins. An invalid value stops the start
with one line that names the setting. \`bun run gateway config check\` says what is wrong without a start, and \`bun run gateway config print\`
shows every value that is set and where it comes from, without the secrets.
`

const FILE = `## The configuration file

\`gateway.yaml\` in \`DATA_DIR\`, or the file that \`CONFIG_FILE\` names. A setting has the same name there as in the environment:

\`\`\`yaml
# yaml-language-server: $schema=https://api.example.com/schemas/gateway.json
BASE_URL: https://api.example.com
TRUSTED_PROXIES: [10.0.0.5, 10.1.0.0/16]
WEBSEARCH_CACHE:
  image-search: 300
SECRET_KEY_FILE: /run/secrets/secret_key
${SECRETS}:
  OPENAI_API_KEY_FILE: /run/secrets/openai
  UPSTREAM_WEATHER_KEY: ...
\`\`\`

Lists may be lists, \`WEBSEARCH_CACHE\` may be a map, and \`UPSTREAM_WALLET_TOKENS\` a list of maps. Under \`${SECRETS}\` are the variables
that models name as \`key_env\` and imported APIs as \`UPSTREAM_...\`. A name that is no setting stops the start.
\`DATA_DIR\`, \`CONFIG_FILE\` and \`NODE_ENV\` come from the environment only. Editors complete and check the file with its JSON Schema:
[${SCHEMA_FILE}](${SCHEMA_FILE}) here, \`/schemas/gateway.json\` on the running gateway, \`bun run gateway config schema\` in a terminal.

## Secrets from files

A setting marked *secret*, and every secret that a model or an imported API names, may come from a file: \`NAME_FILE\` in place of \`NAME\`,
such as \`SECRET_KEY_FILE=/run/secrets/secret_key\`. A newline at the end of the file is not part of the secret. A file that other users may
read gets a warning.
`

/** docs/configuration.md. */
export function documentation(): string {
  return `${[INTRO, ...SETTING_GROUPS.map(section), FILE].join('\n').trimEnd()}\n`
}

function section({ title, intro, settings }: SettingGroup): string {
  const rows = Object.values(settings).map(
    (setting) => `| \`${setting.name}\` | ${cell(setting.defaultText)} | ${cell(meaning(setting))} |`,
  )
  const lead = intro === '' ? [] : [intro, '']
  return [`## ${title}`, '', ...lead, '| Variable | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

function meaning({ doc, secret, environmentOnly }: Setting): string {
  const notes = [...(secret ? ['*Secret.*'] : []), ...(environmentOnly ? ['Environment only.'] : [])]
  return [/[.!?]$/.test(doc) || notes.length === 0 ? doc : `${doc}.`, ...notes].join(' ')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

/** The JSON Schema of the configuration file. */
export function configurationSchema(): JsonSchema {
  const settings = SETTING_GROUPS.flatMap((group) => Object.values(group.settings))
  const properties = settings
    .filter(({ environmentOnly }) => !environmentOnly)
    .flatMap((setting): [string, JsonSchema][] => [
      [setting.name, property(setting)],
      ...(setting.secret ? [[`${setting.name}_FILE`, secretFile(setting)] as [string, JsonSchema]] : []),
    ])
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'gateway.yaml of the paid data API gateway',
    type: 'object',
    additionalProperties: false,
    properties: {
      ...Object.fromEntries(properties),
      [SECRETS]: {
        description:
          'Secrets that models name as key_env and imported APIs as UPSTREAM_..., or NAME_FILE with the path of a file.',
        type: 'object',
        propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
        additionalProperties: { type: 'string' },
      },
    },
  }
}

function property({ doc, schema, example, default: fallback, defaultText }: Setting): JsonSchema {
  const known = defaultText === '' ? '' : ` Default: ${defaultText}.`
  return {
    description: `${doc.replace(/[^.]$/, '$&.')}${known}`,
    ...schema,
    ...(fallback === null ? {} : { default: typed(schema, fallback) }),
    ...(example === null ? {} : { examples: [typed(schema, example)] }),
  }
}

/** A value as the file has it. */
function typed({ type }: JsonSchema, text: string): string | number | boolean {
  if (type === 'integer') return Number(text)
  return type === 'boolean' ? text === 'true' : text
}

function secretFile({ name }: Setting): JsonSchema {
  return { description: `Path of a file that contains ${name}.`, type: 'string' }
}
