import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'sqlite',
  schema: './server/adapters/stores/libsql/schema/*.ts',
  out: './server/adapters/stores/libsql/migrations',
})
