# Forty thousand names of 300 characters each.
cp -R "$(dirname "$0")/." "$1"
rm "$1/setup.sh"
awk 'BEGIN { pad = sprintf("%290s", ""); gsub(" ", "x", pad); print "const f = async () => ({});"; print "export {"; for (i = 0; i < 40000; i++) printf "f as n%d%s,\n", i, pad; print "};" }' > "$1/names.js"
