// A piece of the configuration, as `GET /v1/settings` has it.

export const SETTINGS = [
  {
    section: "hub",
    doc: "The hub itself: where its data is, and where it listens.",
    keys: [
      { key: "data_dir", value: '"/var/lib/gatepost"', origin: "file", line: 8, doc: "Where the queue, the keys and the audit live." },
      {
        key: "listen",
        value: '"127.0.0.1:8787"',
        origin: "default",
        line: null,
        doc: "Where agents and the command line reach the hub. Keep it on loopback unless a proxy with TLS stands before it."
      },
      { key: "max_body", value: "262144", origin: "default", line: null, doc: "The longest request body that the hub reads, in bytes." }
    ]
  },
  {
    section: "approval",
    doc: "Who decides about held messages, and until when.",
    keys: [
      {
        key: "ttl",
        value: '"10m"',
        origin: "file",
        line: 21,
        doc: "How long a message waits for a person. After that it is expired and not sent."
      },
      { key: "approvers", value: '["companion"]', origin: "default", line: null, doc: "Who may decide." },
      {
        key: "cards_per_hour",
        value: "20",
        origin: "default",
        line: null,
        doc: "How many messages of one agent people are asked about within an hour; 0 for no limit."
      }
    ]
  },
  {
    section: "channels.telegram.home",
    doc: "A bot.",
    keys: [
      { key: "token", value: "***", origin: "file", line: 34, doc: "The bot’s token, as @BotFather gives it." },
      { key: "receive", value: "true", origin: "file", line: 35, doc: "Whether the hub reads what people write to the bot." }
    ]
  }
];
