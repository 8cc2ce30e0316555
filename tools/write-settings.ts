import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configurationSchema, documentation, SCHEMA_FILE } from '../server/config/schema/documentation'

/** `bun run settings`: writes docs/configuration.md and its schema. A test fails while they are not current. */
const DOCS = join(import.meta.dirname, '../docs')

writeFileSync(join(DOCS, 'configuration.md'), documentation())
writeFileSync(join(DOCS, SCHEMA_FILE), `${JSON.stringify(configurationSchema(), null, 2)}\n`)
