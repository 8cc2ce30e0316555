import { CommandCard } from '../../ui/command-card.tsx'
import { firstCallCommands } from './commands.ts'

/** From no account to a paid answer, as commands to copy, in the order they are run. */
export function FirstCallSteps({ origin }: { origin: string }) {
  const commands = firstCallCommands(origin)
  return (
    <>
      <CommandCard title="1. Sign up" command={commands.signUp}>
        Put in your own email and password. The account starts with $2.00 of credit; the session is kept in{' '}
        <code>cookies.txt</code>.
      </CommandCard>
      <CommandCard title="2. Create a key" command={commands.createKey}>
        Takes <code>secret</code> out of the answer, keeps it in a variable of your shell and prints it. It is shown
        only this once.
      </CommandCard>
      <CommandCard title="3. Search images" command={commands.search}>
        The header <code>X-Cost-Micros-USD</code> says what the call cost, in millionths of a dollar: 5000 is $0.005.
        Only a call that succeeds is charged.
      </CommandCard>
      <CommandCard title="The same call without a key" command={commands.searchWithoutKey}>
        Answers 402 Payment Required with the price in its body. Nothing is charged.
      </CommandCard>
    </>
  )
}
