import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.ArrayOf;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.CompactArrayOf;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

/**
 * Prints one message of every API, kind and version as Apache Kafka's own client library encodes it: all fields set to different
 * values, one element in arrays of structs, two in others. Columns: name, version, bytes in hexadecimal, the values as JSON in the
 * form in which Weir shows them. Arguments: API keys to leave out.
 */
public class KafkaVectors {
  private static int next;
  private static final Set<String> SECRETS = Set.of("auth_bytes", "hmac", "salt", "salted_password");

  private record Value(Object object, String json) {}

  /** Sets the fields of a message or struct and returns them as JSON. */
  private static String fill(Object message, Schema schema) throws Exception {
    List<String> json = new ArrayList<>();
    for (BoundField f : schema.fields()) {
      if (f.def.type instanceof TaggedFields tagged) {
        for (var t : tagged.fields().values()) json.add(set(message, t.name, t.type));
      } else {
        json.add(set(message, f.def.name, f.def.type));
      }
    }
    return "{" + String.join(",", json) + "}";
  }

  private static String set(Object message, String wire, Type type) throws Exception {
    Field field = message.getClass().getDeclaredField(camel(wire));
    field.setAccessible(true);
    Value value = type instanceof ArrayOf || type instanceof CompactArrayOf
        ? array(field, type.arrayElementType().get()) : value(field.getType(), type);
    field.set(message, value.object);
    return "\"" + wire + "\":" + (SECRETS.contains(wire) ? "\"****\"" : value.json);
  }

  private static String camel(String wire) {
    String joined = Arrays.stream(wire.split("_")).filter(w -> !w.isEmpty())
        .map(w -> Character.toUpperCase(w.charAt(0)) + w.substring(1)).collect(Collectors.joining());
    return Character.toLowerCase(joined.charAt(0)) + joined.substring(1);
  }

  @SuppressWarnings("unchecked")
  private static Value array(Field field, Type element) throws Exception {
    boolean struct = element instanceof Schema;
    Collection<Object> list = field.getType() == List.class ? new ArrayList<>()
        : (Collection<Object>) field.getType().getDeclaredConstructor().newInstance();
    List<String> json = new ArrayList<>();
    for (int i = 0; i < (struct ? 1 : 2); i++) {
      Value value = value(struct ? elementClass(field) : null, element);
      list.add(value.object);
      json.add(value.json);
    }
    return new Value(list, "[" + String.join(",", json) + "]");
  }

  private static Class<?> elementClass(Field field) {
    var type = field.getGenericType();
    if (type instanceof Class<?> c) type = c.getGenericSuperclass();
    return (Class<?>) ((ParameterizedType) type).getActualTypeArguments()[0];
  }

  private static Value value(Class<?> c, Type type) throws Exception {
    int n = ++next;
    if (type instanceof Schema schema) {
      Constructor<?> make = c.getDeclaredConstructor();
      make.setAccessible(true);
      Object struct = make.newInstance();
      return new Value(struct, fill(struct, schema));
    }
    switch (type.toString().replace("COMPACT_", "").replace("NULLABLE_", "")) {
      case "BOOLEAN": return new Value(true, "true");
      case "INT8": return number((byte) (n % 100));
      case "INT16": return number((short) (n + 300));
      case "UINT16": return number(n + 40000);
      case "INT32": return number(n + 70000);
      case "INT64": return number(n + 5000000000L);
      case "FLOAT64": return number(n + 0.5);
      case "UUID": return text(new Uuid(n, ~n));
      case "STRING": return text("s" + n);
      case "BYTES": {
        byte[] bytes = ("b" + n).getBytes(StandardCharsets.UTF_8);
        Object held = c == byte[].class ? bytes : ByteBuffer.wrap(bytes);
        return new Value(held, "\"" + HexFormat.of().formatHex(bytes) + "\"");
      }
      case "RECORDS": return records(("v" + n).getBytes(StandardCharsets.UTF_8));
      default: throw new IllegalStateException("no value for " + type);
    }
  }

  private static Value number(Object value) { return new Value(value, value.toString()); }

  private static Value text(Object value) { return new Value(value, "\"" + value + "\""); }

  private static Value records(byte[] payload) {
    MemoryRecords records = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(1700000000000L, payload));
    CRC32C crc = new CRC32C();
    crc.update(records.buffer().duplicate());
    return new Value(records, String.format("{\"size\":%d,\"crc32c\":\"%08x\"}", records.sizeInBytes(), crc.getValue()));
  }

  private static void print(ApiMessageType api, String kind, Schema[] schemas) throws Exception {
    for (short v = api.lowestSupportedVersion(); v <= api.highestSupportedVersion(true); v++) {
      next = 0;
      ApiMessage message = kind.equals("request") ? api.newRequest() : api.newResponse();
      String json = fill(message, schemas[v]);
      ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, v).buffer();
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      System.out.println(api.name + " " + kind + "\t" + v + "\t" + HexFormat.of().formatHex(bytes) + "\t" + json);
    }
  }

  public static void main(String[] args) throws Exception {
    Set<Integer> left = Arrays.stream(args).map(Integer::parseInt).collect(Collectors.toSet());
    List<ApiMessageType> apis = new ArrayList<>(List.of(ApiMessageType.values()));
    apis.sort(Comparator.comparing(ApiMessageType::apiKey));
    for (ApiMessageType api : apis) {
      boolean gone = api.lowestSupportedVersion() > api.highestSupportedVersion(true);
      if (api.apiKey() < 0 || gone || left.contains((int) api.apiKey())) continue;
      print(api, "request", api.requestSchemas());
      print(api, "response", api.responseSchemas());
    }
  }
}
