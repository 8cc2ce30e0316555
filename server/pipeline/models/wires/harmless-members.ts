import { covered, type MemberRules, objectOf } from './priced-members'

/** Members in which agents describe themselves. Vendors ignore them. */
const OF_AGENTS: MemberRules = covered('client_metadata', 'session_id')

/**
 * The open members of vLLM, SGLang, llama.cpp, Qwen, GLM, DeepSeek and OpenRouter. Each changes what is written, within the cap, or
 * how it is shown.
 */
const OF_SERVERS: MemberRules = {
  // Reasoning.
  ...covered('chat_template_kwargs', 'thinking', 'thinking_token_budget', 'thinking_budget_tokens'),
  ...covered('preserve_thinking', 'clear_thinking', 'include_reasoning', 'disable_reasoning'),
  ...covered('reasoning_format', 'reasoning_split', 'reasoning_in_content', 'thinking_forced_open', 'think'),
  reasoning: objectOf(covered('effort', 'max_tokens', 'exclude', 'enabled', 'summary', 'generate_summary')),
  // Sampling.
  ...covered('length_penalty', 'stop_token_ids', 'include_stop_str_in_output', 'ignore_eos', 'min_tokens', 'do_sample'),
  ...covered('skip_special_tokens', 'spaces_between_special_tokens', 'allowed_token_ids', 'bad_words', 'random_seed'),
  ...covered('top_a', 'typical_p', 'top_n_sigma', 'tfs_z', 'min_keep', 'repeat_penalty', 'repeat_last_n', 'samplers'),
  ...covered('dynatemp_range', 'dynatemp_exponent', 'mirostat', 'mirostat_tau', 'mirostat_eta', 'penalize_nl'),
  ...covered('dry_multiplier', 'dry_base', 'dry_allowed_length', 'dry_penalty_last_n', 'dry_sequence_breakers'),
  ...covered('xtc_probability', 'xtc_threshold', 'repetition_detection', 'watermarking'),
  // The form of the answer.
  ...covered('guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'guided_whitespace_pattern'),
  ...covered('guided_decoding_backend', 'structured_outputs', 'structural_tag', 'grammar', 'json_schema', 'regex'),
  ...covered('tool_stream', 'parse_tool_calls', 'stream_interval', 'incremental_output', 'return_tokens_as_token_ids'),
  ...covered('add_special_tokens', 'return_token_ids', 'return_tokens', 'return_progress', 'timings_per_token'),
  ...covered(
    'ebnf',
    'separate_reasoning',
    'stream_reasoning',
    'no_stop_trim',
    'continue_final_message',
    'add_generation_prompt',
  ),
  // The input: its texts are in the body, or it becomes shorter.
  ...covered('documents', 'truncate_prompt_tokens', 'truncation_side', 'transforms'),
  // Caches and accounts of use.
  ...covered('cache_prompt', 'cache_salt', 'n_keep', 'n_discard'),
  usage: objectOf(covered('include')),
}

/** Qwen bills thinking on top of the cap, so a wire that lets these pass holds their tokens. */
const THINKING_ON_TOP: MemberRules = covered('enable_thinking', 'thinking_budget')

/**
 * Members that cost nothing of their own, by wire, in addition to those of the vendor's API. Left out on purpose, because they
 * cost more tokens than are held, another customer's place, or a vendor's service: `echo`, `best_of`, `use_beam_search`,
 * `chat_template`, `mm_processor_kwargs`, `prompt_logprobs`, `n_probs`, `n_predict`, `priority`, `request_id`, `id_slot`, `lora`,
 * `kv_transfer_params`, `vllm_xargs`, `logits_processors`, `response_fields`, `enable_search`, `keep_alive`.
 */
export const HARMLESS = {
  chat: { ...OF_AGENTS, ...OF_SERVERS, ...THINKING_ON_TOP },
  responses: { ...OF_AGENTS, ...OF_SERVERS, ...covered('top_k', 'min_p', 'repetition_penalty', 'seed', 'stop') },
  messages: OF_AGENTS,
} as const

/** Members of a Responses call that a chat completion takes under the same name. */
export const IN_BOTH: readonly string[] = Object.keys(HARMLESS.responses).filter(
  (name) => name !== 'reasoning' && !Object.hasOwn(OF_AGENTS, name),
)
