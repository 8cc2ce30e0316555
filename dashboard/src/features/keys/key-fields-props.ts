import type { ApiKey } from '../../api/keys.ts'
import type { KeyErrors, KeyTyped } from './key-form-values.ts'

/** What every part of a key's form is given. */
export interface KeyFieldsProps {
  typed: KeyTyped
  errors: KeyErrors
  apiKey: ApiKey | null
  /** The address that this computer calls from. */
  ip: string | null
  focus?: 'limit' | 'expires' | undefined
  onChange: (part: Partial<KeyTyped>) => void
  onLeave: (field: keyof KeyTyped) => void
}
