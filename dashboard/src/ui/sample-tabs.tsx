import { type ReactNode, useState } from 'react'
import { LANGUAGES, type Language, type Sample, snippet } from '../sample.ts'
import { KIT_WORDS } from '../words/kit.ts'
import { CodeBlock } from './code-block.tsx'
import { Tabs } from './tabs.tsx'

/** One request as curl, JavaScript and Python. */
export function SampleTabs({ sample, onCopied, children }: SampleTabsProps) {
  const [language, setLanguage] = useState<Language>('curl')
  return (
    <Tabs label={KIT_WORDS.language} tabs={LANGUAGES} chosen={language} onChoose={setLanguage}>
      <CodeBlock
        label={KIT_WORDS.code}
        code={snippet(language, sample)}
        copyLabel={KIT_WORDS.copyCommand}
        {...(onCopied && { onCopied })}
      >
        {children}
      </CodeBlock>
    </Tabs>
  )
}

type SampleTabsProps = { sample: Sample; onCopied?: () => void; children?: ReactNode }
