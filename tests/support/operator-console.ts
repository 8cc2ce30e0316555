import { join } from 'node:path'
import { operatorCommand } from '../../server/cli/commands/operator'
import { listenControl } from '../../server/listen'
import type { Harness } from './harness'

/**
 * `gateway operator` of the command line, on the machine of a gateway: over its control socket, found by `DATA_DIR`. Close it when
 * done, before the gateway.
 */
export function openOperatorConsole({ folder, gateway }: Harness) {
  const before = process.env['DATA_DIR']
  const socket = listenControl(join(folder, 'control.sock'), gateway.control)
  process.env['DATA_DIR'] = folder
  return {
    /** The output of a command, files included. */
    async run(...words: string[]): Promise<string> {
      let file = ''
      const text = await operatorCommand(
        words,
        () => false,
        (piece) => {
          file += piece
        },
      )
      return file + text
    },
    async close(): Promise<void> {
      if (before === undefined) delete process.env['DATA_DIR']
      else process.env['DATA_DIR'] = before
      await socket.stop()
    },
  }
}
