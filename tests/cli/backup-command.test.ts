import { afterAll, expect, test } from 'bun:test'
import { localBackupCommand } from '../../server/cli/local/backup-command'

/** The command makes new files private to its process, which here is that of other tests too. */
const umask = process.umask()
afterAll(() => void process.umask(umask))

test.each([
  { options: ['--verify'], copy: '/copies/gateway-20261123T044500Z-1a2b3c/' },
  { options: [], copy: 's3://bucket/prefix/gateway-20261123T044500Z-1a2b3c' },
])('backup $options $copy does not put a copy into a copy, and says how to verify it', async ({ options, copy }) => {
  await expect(localBackupCommand(['backup', ...options, copy], { err: () => undefined })).rejects.toThrow(
    `${copy} is a copy. Did you mean "operator backup verify ${copy}"?`,
  )
})
